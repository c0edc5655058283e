import ReceiptBridgeReceipts

extension NotificationTable {
    /// The types and subtypes in Apple's documentation as of 2026; `-` means no subtype.
    ///
    /// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
    package static let documented: [(type: String, subtypes: [String])] = [
        ("SUBSCRIBED", ["INITIAL_BUY", "RESUBSCRIBE"]),
        ("OFFER_REDEEMED", ["-", "UPGRADE", "DOWNGRADE"]),
        ("DID_CHANGE_RENEWAL_PREF", ["-", "UPGRADE", "DOWNGRADE"]),
        ("DID_CHANGE_RENEWAL_STATUS", ["-", "AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"]),
        ("DID_RENEW", ["-", "BILLING_RECOVERY"]),
        ("DID_FAIL_TO_RENEW", ["-", "GRACE_PERIOD"]),
        ("GRACE_PERIOD_EXPIRED", ["-"]),
        ("EXPIRED", ["-", "VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"]),
        ("PRICE_INCREASE", ["PENDING", "ACCEPTED"]),
        ("REFUND", ["-"]), ("REFUND_DECLINED", ["-"]), ("REFUND_REVERSED", ["-"]), ("CONSUMPTION_REQUEST", ["-"]),
        ("REVOKE", ["-"]), ("RENEWAL_EXTENDED", ["-"]),
        ("RENEWAL_EXTENSION", ["SUMMARY", "SUCCESS", "FAILURE"]),
        ("ONE_TIME_CHARGE", ["-"]), ("TEST", ["-"]),
        ("EXTERNAL_PURCHASE_TOKEN", ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"]),
        ("RESCIND_CONSENT", ["-"]), ("METADATA_UPDATE", ["-"]), ("MIGRATION", ["-"]), ("MIGRATE", ["-"]),
        ("PRICE_CHANGE", ["-"]),
    ]

    /// - Throws: ``FieldTableError`` for the first error. Keys, types, conditions and profiles must be known. A row
    ///   that sends nothing must describe the loss. A row must not be unreachable because an earlier row matches
    ///   everything that it matches. For every documented type and subtype, one row without conditions must match in
    ///   every profile.
    package init(json: [UInt8], file: String) throws(FieldTableError) {
        func error(_ code: FieldTableError.Code, _ place: String, _ reason: String) -> FieldTableError {
            FieldTableError(code: code, file: file, row: place, reason: reason)
        }
        guard let document = DocumentObject(table: json) else {
            throw error(.malformed, "header", "not a JSON object")
        }
        for key in document.members.map(\.name).sorted() where !["model", "place", "rows"].contains(key) {
            throw error(.unknownKey, "header", "unknown key \(key)")
        }
        guard document.string("model") == "NotificationPayload", document.string("place") == "notification_type" else {
            throw error(.wrongHeader, "header", "model must be NotificationPayload, and place notification_type")
        }
        guard let elements = document["rows"]?.elements else {
            throw error(.malformed, "header", "rows is not an array")
        }
        var rows: [Row] = []
        for (index, element) in elements.enumerated() {
            var place = "rows[\(index + 1)]"
            let row = try Row(element, file, at: &place)
            guard !rows.contains(where: { $0.makesUnreachable(row) }) else {
                throw error(
                    .duplicateModel, place, "never matches, because an earlier row matches everything that it matches")
            }
            rows.append(row)
        }
        self.rows = rows
        for (type, subtypes) in Self.documented {
            for subtype in subtypes where !rows.contains(where: { $0.alwaysMatches(type, subtype) }) {
                throw error(.unmappedModel, "rows", "no row without conditions matches \(type) \(subtype)")
            }
        }
    }
}

extension NotificationTable.Row {
    private static let keys = ["type", "subtype", "when", "profile", "sends", "says", "loss"]

    /// Reads one element of `rows`. Once its type and subtype are read, `place` contains them.
    fileprivate init(_ element: DocumentValue?, _ file: String, at place: inout String) throws(FieldTableError) {
        func error(_ code: FieldTableError.Code, _ reason: String) -> FieldTableError {
            FieldTableError(code: code, file: file, row: place, reason: reason)
        }
        guard let object = element?.object else { throw error(.malformed, "not a JSON object") }
        for key in object.members.map(\.name).sorted() where !Self.keys.contains(key) {
            throw error(.unknownKey, "unknown key \(key)")
        }
        func value<Value>(_ key: String, _ read: (DocumentValue) -> Value?) throws(FieldTableError) -> Value? {
            guard let member = object[key] else { return nil }
            guard let value = read(member) else { throw error(.malformed, "\(key) has a value of another type") }
            return value
        }
        func required<Value>(_ key: String, _ read: (DocumentValue) -> Value?) throws(FieldTableError) -> Value {
            guard let found = try value(key, read) else { throw error(.missingKey, "missing key \(key)") }
            return found
        }
        (type, subtype) = (try required("type", \.plainText), try required("subtype", \.plainText))
        let (when, form) = (try value("when", \.plainTexts) ?? [], try value("profile", \.plainText))
        let (sent, said) = (try required("sends", \.plainTexts), try value("says", \.plainText))
        loss = try value("loss", \.plainText)
        place += " \"\(type) \(subtype)\""
        guard NotificationType(rawValue: type).isKnown else { throw error(.unknownModel, "unknown version 2 type") }
        guard ["true", "false", nil].contains(said) else { throw error(.malformed, "says must be true or false") }
        says = said.map { $0 == "true" }
        conditions = when.compactMap(NotificationCondition.init(rawValue:))
        guard conditions.count == when.count else {
            throw error(.unknownConversion, "when contains an unknown condition")
        }
        profile = form.flatMap(NotificationV1Profile.init(rawValue:))
        guard (profile == nil) == (form == nil) else { throw error(.unknownModel, "unknown profile") }
        sends = sent.compactMap(NotificationV1Type.init(rawValue:))
        guard sends.count == sent.count else { throw error(.badWire, "sends contains an unknown version 1 type") }
        guard !sends.isEmpty || loss?.isEmpty == false else {
            throw error(.missingKey, "sends nothing, but has no loss")
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

extension DocumentValue {
    /// The text of a string; `nil` for other types.
    fileprivate var plainText: String? { string == nil ? nil : text }

    /// The texts of a list of strings.
    fileprivate var plainTexts: [String]? {
        let texts = elements?.map { $0.flatMap(\.plainText) }
        return texts.flatMap { $0.contains(nil) ? nil : $0.compactMap(\.self) }
    }
}
