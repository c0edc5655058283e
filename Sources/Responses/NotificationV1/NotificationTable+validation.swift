import ReceiptBridgeReceipts

extension NotificationTable {
    /// - Throws: ``FieldTableError`` for the first error. Keys, types, conditions and profiles must be known. A row
    ///   that sends nothing must describe the loss. A row must not be unreachable because an earlier row matches
    ///   everything that it matches. For every documented type and subtype, one row without conditions must match in
    ///   every profile.
    package init(json: [UInt8], file: String) throws(FieldTableError) {
        let document = try FieldTableDocument(
            json: json, file: file, model: "NotificationPayload", place: "notification_type", lists: ["rows"])
        let keys: Set = ["type", "subtype", "when", "profile", "sends", "says", "loss"]
        var rows: [Row] = []
        for entry in try document.entries("rows", keys: keys) {
            let row = try Row(entry)
            guard !rows.contains(where: { $0.makesUnreachable(row) }) else {
                throw entry.error(
                    .duplicateModel, "never matches, because an earlier row matches everything that it matches")
            }
            rows.append(row)
        }
        self.rows = rows
        for (type, subtypes) in NotificationType.documented {
            for subtype in subtypes where !rows.contains(where: { $0.alwaysMatches(type, subtype) }) {
                throw document.error(
                    .unmappedModel, "no row without conditions matches \(type) \(subtype)", at: "rows")
            }
        }
    }
}

extension NotificationTable.Row {
    fileprivate init(_ entry: FieldTableDocument.Entry) throws(FieldTableError) {
        (type, subtype) = (try entry.required("type", \.plainText), try entry.required("subtype", \.plainText))
        let (when, form) = (try entry.value("when", \.plainTexts) ?? [], try entry.value("profile", \.plainText))
        let (sent, said) = (try entry.required("sends", \.plainTexts), try entry.value("says", \.plainText))
        loss = try entry.value("loss", \.plainText)
        guard NotificationType(rawValue: type).isKnown else {
            throw entry.error(.unknownModel, "unknown version 2 type")
        }
        guard ["true", "false", nil].contains(said) else { throw entry.error(.malformed, "says must be true or false") }
        says = said.map { $0 == "true" }
        conditions = when.compactMap(NotificationCondition.init(rawValue:))
        guard conditions.count == when.count else {
            throw entry.error(.unknownConversion, "when contains an unknown condition")
        }
        profile = form.flatMap(NotificationV1Profile.init(rawValue:))
        guard (profile == nil) == (form == nil) else { throw entry.error(.unknownModel, "unknown profile") }
        sends = sent.compactMap(NotificationV1Type.init(rawValue:))
        guard sends.count == sent.count else { throw entry.error(.badWire, "sends contains an unknown version 1 type") }
        guard !sends.isEmpty || loss?.isEmpty == false else {
            throw entry.error(.missingKey, "sends nothing, but has no loss")
        }
    }

    fileprivate func makesUnreachable(_ other: Self) -> Bool {
        type == other.type && (subtype == "*" || subtype == other.subtype)
            && (profile == nil || profile == other.profile) && Set(conditions).isSubset(of: other.conditions)
    }

    /// Returns whether this row always matches the type and subtype, without conditions and in every profile.
    fileprivate func alwaysMatches(_ type: String, _ subtype: String) -> Bool {
        matches(type, subtype) && profile == nil && conditions.isEmpty
    }
}
