import ReceiptBridgeBase

extension FieldTables {
    /// Returns all tables in the requested format; the table of notifications is the last.
    package func listing(_ format: TableListing) -> String {
        let (fields, types) = (format.render(references), notifications.listing(format))
        return switch format {
        case .text: fields + "\n" + types
        case .markdown: fields + "\n### `notifications.json`: notification_type\n\n" + types
        // The table of notifications is inserted as the last element of the array.
        case .json: String(fields.dropLast(2)) + "," + types + "]\n"
        }
    }
}

extension NotificationTable {
    package func listing(_ format: TableListing) -> String {
        switch format {
        case .text: text
        case .markdown: markdown
        case .json: json
        }
    }

    private var text: String {
        var text = "notifications.json: NotificationPayload, notification_type\n"
        for row in rows {
            text += "  \(row.name)\(row.circumstances.map { " (\($0))" } ?? ""): \(row.sent)"
            text += row.loss.map { "; lost: \($0)" } ?? ""
            text += "\n"
        }
        return text
    }

    private var markdown: String {
        var text = "| version 2 | condition | version 1 | lost |\n|---|---|---|---|\n"
        for row in rows {
            text += "| `\(row.name)` | \(row.circumstances ?? "") | \(row.sent) | "
            text += "\((row.loss ?? "").replacing("|", with: "\\|")) |\n"
        }
        return text
    }

    /// One object, with the same structure as the JSON of the field tables.
    private var json: String {
        let json = JSONWriter.object(reserving: 8_192) { writer in
            writer.member("file", "notifications.json")
            writer.member("model", "NotificationPayload")
            writer.member("place", "notification_type")
            writer.objects("rows", rows) { writer, row in
                writer.member("type", row.type)
                writer.member("subtype", row.subtype)
                writer.member("when", row.conditions.map(\.rawValue))
                writer.member("sends", row.sends.map(\.rawValue))
                writer.member("profile", ifPresent: row.profile?.rawValue)
                writer.member("says", ifPresent: row.says.map { "\($0)" })
                writer.member("loss", ifPresent: row.loss)
            }
        }
        return String(decoding: json, as: UTF8.self)
    }
}

extension NotificationTable.Row {
    /// The type and, if there is one, the subtype: `EXPIRED/VOLUNTARY`.
    fileprivate var name: String { subtype == "-" ? type : "\(type)/\(subtype)" }

    fileprivate var sent: String {
        guard !sends.isEmpty else { return "nothing" }
        return sends.map(\.rawValue).joined(separator: ", ") + (says.map { " (\"\($0)\")" } ?? "")
    }

    fileprivate var circumstances: String? {
        let all = (profile.map { ["profile \($0.rawValue)"] } ?? []) + conditions.map(\.rawValue)
        return all.isEmpty ? nil : all.joined(separator: ", ")
    }
}
