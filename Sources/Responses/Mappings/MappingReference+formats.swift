import ReceiptBridgeBase

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
