/// One table of `Mappings/` in a form for people and documentation, without generic types.
package struct MappingReference: Sendable {
    /// One key of the response, or several keys with the same value.
    package struct Row: Sendable {
        /// The keys in the response; for a date, all three.
        package let wires: [String]
        /// The key in `purchase-info`, if the table has that column.
        package let propertyListKey: String?
        package let model: String
        package let conversion: String
    }

    package let file: String
    package let model: String
    /// The part of the response that the table describes.
    package let place: String
    /// The rows in the order of the response.
    package let rows: [Row]
    package let omitted: [(model: String, because: String)]

    init<Field>(_ table: FieldTable<Field>, file: String) {
        self.file = file
        model = Field.modelName
        place = Field.place
        rows = table.rows.map { row in
            Row(
                wires: [row.wire, row.also].compactMap(\.self).flatMap {
                    ColumnKey.names(wire: $0, conversion: row.conversion)
                }, propertyListKey: row.propertyListKey, model: row.field.rawValue, conversion: row.conversion.rawValue)
        }
        omitted = table.omitted.map { ($0.field.rawValue, $0.because) }
    }
}

extension FieldTables {
    /// All field tables, from the top level of the response downwards.
    package var references: [MappingReference] {
        [
            MappingReference(answer, file: "answer.json"),
            MappingReference(appReceipt, file: "app-receipt.json"),
            MappingReference(inApp, file: "in-app.json"),
            MappingReference(transaction, file: "transaction.json"),
            MappingReference(renewal, file: "renewal.json"),
            MappingReference(transactionReceipt, file: "transaction-receipt.json"),
            MappingReference(flatTransaction, file: "flat-transaction.json"),
        ]
    }

    /// Returns every file of ``fileNames`` with its first error; the error is `nil` if the file is valid.
    package static func findings(
        contents: (String) throws(FieldTableError) -> [UInt8]
    ) -> [(file: String, error: FieldTableError?)] {
        fileNames.map { file in
            do throws(FieldTableError) {
                // The other tables are those of the binary, so that each file has its own error.
                _ = try FieldTables { name throws(FieldTableError) in
                    try name == file ? contents(name) : bundledFile(name)
                }
                return (file, nil)
            } catch {
                return (file, error)
            }
        }
    }
}
