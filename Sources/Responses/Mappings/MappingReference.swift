import ReceiptBridgeBase

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

/// The output formats of `mappings list`. The Markdown is embedded in documents and the JSON is read by programs, so
/// both should remain stable.
package enum TableListing: String, Sendable, CaseIterable {
    case text, markdown, json

    package func render(_ references: [MappingReference]) -> String {
        switch self {
        case .text: references.map(\.text).joined(separator: "\n")
        case .markdown: references.map(\.markdown).joined(separator: "\n")
        case .json: MappingReference.json(references) + "\n"
        }
    }
}

extension MappingReference {
    /// One line for each row, with aligned columns.
    fileprivate var text: String {
        let wires = rows.map { $0.wires.joined(separator: ", ") }
        let width = (wires.map(\.count) + [0]).max() ?? 0
        let names = (rows.map(\.model) + omitted.map(\.model)).map(\.count).max() ?? 0
        var text = "\(file): \(model), \(place)\n"
        for (row, wire) in zip(rows, wires) {
            text += "  \(wire.padded(width))  \(row.model.padded(names))  \(row.conversion)\n"
        }
        for (model, because) in omitted {
            text += "  \("-".padded(width))  \(model.padded(names))  omitted: \(because)\n"
        }
        return text
    }

    /// A Markdown table of the rows, and one of the omitted properties.
    fileprivate var markdown: String {
        let hasPropertyListKeys = rows.contains { $0.propertyListKey != nil }
        var text = "### `\(file)`: \(place)\n\n"
        text += hasPropertyListKeys ? "| key | purchase-info |" : "| key |"
        text += " \(model) | conversion |\n|---|---|---|\(hasPropertyListKeys ? "---|" : "")\n"
        for row in rows {
            text += "| \(row.wires.map { "`\($0)`" }.joined(separator: ", ")) |"
            if let key = row.propertyListKey { text += " `\(key)` |" }
            text += " `\(row.model)` | `\(row.conversion)` |\n"
        }
        guard !omitted.isEmpty else { return text }
        text += "\nNot in responses:\n\n| \(model) | reason |\n|---|---|\n"
        for (model, because) in omitted {
            text += "| `\(model)` | \(because.replacing("|", with: "\\|")) |\n"
        }
        return text
    }

    fileprivate static func json(_ references: [MappingReference]) -> String {
        var writer = JSONWriter(reserving: 16_384)
        writer.beginArray()
        for reference in references {
            writer.object { writer in
                writer.member("file", reference.file)
                writer.member("model", reference.model)
                writer.member("place", reference.place)
                writer.objects("rows", reference.rows) { writer, row in
                    writer.member("wire", row.wires)
                    writer.member("plist", ifPresent: row.propertyListKey)
                    writer.member("model", row.model)
                    writer.member("as", row.conversion)
                }
                writer.objects("omitted", reference.omitted) { writer, omitted in
                    writer.member("model", omitted.model)
                    writer.member("because", omitted.because)
                }
            }
        }
        writer.endArray()
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}

extension String {
    /// The text followed by spaces up to the width.
    fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
