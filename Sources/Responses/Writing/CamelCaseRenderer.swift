package import ReceiptBridgeBase
package import ReceiptBridgeReceipts

/// Writes the contents of a receipt in camelCase: dates as numbers of milliseconds, flags as booleans, bytes in
/// base64.
///
/// This is for inspection, so every property of the receipt is written, also those that verifyReceipt responses omit.
/// The names and their order are those of the tables: mapped properties first, in the order of the response.
package struct CamelCaseRenderer: Sendable {
    let tables: FieldTables

    /// - Parameter tables: usually ``FieldTables/bundled``, loaded once.
    package init(tables: FieldTables) { self.tables = tables }

    /// Writes one object: the receipt without its purchases, which ``writeTransactions(of:into:)`` writes.
    package func writeReceipt(_ contents: ReceiptContents, into writer: inout JSONWriter) {
        writer.beginObject()
        switch contents {
        case .app(let receipt):
            for (field, key) in tables.appReceipt.camelCase {
                guard let value = field.value(of: receipt, requestDate: nil).present else { continue }
                writer.key(key)
                writer.camelCase(value)
            }
        case .transaction(let receipt):
            writeEntries(of: receipt, into: &writer)
        }
        writer.endObject()
    }

    /// One object for each purchase, in the order of the receipt; for a transactionReceipt, one object.
    package func writeTransactions(of contents: ReceiptContents, into writer: inout JSONWriter) {
        writer.beginArray()
        switch contents {
        case .app(let receipt):
            for purchase in receipt.purchases {
                writer.beginObject()
                for (field, key) in tables.inApp.camelCase {
                    guard let value = field.value(of: purchase).present else { continue }
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

extension CamelCaseRenderer {
    /// In the order of the receipt, then the unsigned lines. A key that no table contains is converted to camelCase at
    /// its hyphens, for example `new-key` to `newKey`.
    func writeEntries(of receipt: TransactionReceipt, into writer: inout JSONWriter) {
        let table = tables.transactionReceipt
        for entry in receipt.purchaseInfo {
            if let field = table.column(forPropertyListKey: entry.key)?.field {
                writer.key(field.rawValue)
                writer.camelCase(entry.value, kind: field.kind)
            } else {
                writer.key(Self.camelCase(entry.key))
                writer.value(entry.value)
            }
        }
        writeRevocation(of: receipt, into: &writer)
        let unsigned: [(PurchaseInfoField, String?)] = [
            (.pod, receipt.pod), (.signingStatus, receipt.signingStatus),
            (.claimedEnvironment, receipt.claimedEnvironment),
        ]
        for case (let field, let text?) in unsigned {
            writer.key(field.rawValue)
            writer.value(text)
        }
    }

    /// In the order of the table. `type` is only known for auto-renewable subscriptions: no other product expires.
    func writeTransaction(of receipt: TransactionReceipt, into writer: inout JSONWriter) {
        writer.beginObject()
        for row in tables.transactionReceipt.rows where row.field.belongsToTransaction {
            guard let key = row.propertyListKey, let text = receipt.value(of: key) else { continue }
            writer.key(row.field.rawValue)
            writer.camelCase(text, kind: row.field.kind)
        }
        writeRevocation(of: receipt, into: &writer)
        if receipt.isAutoRenewable {
            writer.key("type")
            writer.camelCase(.productType(.autoRenewable))
        }
        writer.endObject()
    }

    /// A refund that was recorded after the receipt was created. One in the receipt itself is already among its lines.
    private func writeRevocation(of receipt: TransactionReceipt, into writer: inout JSONWriter) {
        guard let date = receipt.revocationDate, receipt["cancellation-date-ms"] == nil else { return }
        writer.key(PurchaseInfoField.revocationDate.rawValue)
        writer.value(date.milliseconds)
        guard let reason = receipt.revocationReason else { return }
        writer.key(PurchaseInfoField.revocationReason.rawValue)
        writer.value(reason)
    }

    /// Converts a key with hyphens, for example `new-key` to `newKey`.
    private static func camelCase(_ key: String) -> String {
        let words = key.split(separator: "-")
        return (words.first.map(String.init) ?? key) + words.dropFirst().map(\.capitalized).joined()
    }
}

extension Substring {
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
