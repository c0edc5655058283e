package import ReceiptDecoding

/// Writes the contents of a receipt in camelCase: dates as numbers of milliseconds, flags as booleans, bytes in
/// base64.
///
/// This is for inspection, so every property of the receipt is written, also those that verifyReceipt responses omit.
/// The names and their order are those of the tables: mapped properties first, in the order of the response.
package struct CamelCaseRenderer: Sendable {
    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``, loaded once.
    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// Writes one object: the receipt without its purchases, which ``writeTransactions(of:into:)`` writes.
    package func writeReceipt(_ contents: ReceiptContents, into writer: inout JSONWriter) {
        writer.beginObject()
        switch contents {
        case .app(let receipt):
            for (field, key) in tables.appReceipt.camelCase {
                guard let value = field.value(of: receipt, requestDate: nil) else { continue }
                writer.key(key)
                writer.camelCase(value)
            }
        case .transaction(let receipt):
            writeEntries(of: receipt, into: &writer)
        }
        writer.endObject()
    }

    /// Writes an array with one object for each purchase, in the order of the receipt; for a transactionReceipt, one
    /// object.
    package func writeTransactions(of contents: ReceiptContents, into writer: inout JSONWriter) {
        writer.beginArray()
        switch contents {
        case .app(let receipt):
            for purchase in receipt.purchases {
                writer.beginObject()
                for (field, key) in tables.inApp.camelCase {
                    guard let value = field.value(of: purchase) else { continue }
                    writer.key(key)
                    writer.camelCase(value)
                }
                writer.endObject()
            }
        case .transaction(let receipt):
            writeTransaction(of: receipt, into: &writer)
        }
        writer.endArray()
    }
}
