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

    /// Parses and validates a table.
    ///
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
            let row: Row
            do throws(Fault) {
                let entry = try Entry(element)
                place += " \"\(entry.type) \(entry.subtype)\""
                row = try Row(entry)
            } catch {
                throw FieldTableError(code: error.code, file: file, row: place, reason: error.reason)
            }
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

    /// An error in one row.
    fileprivate struct Fault: Error {
        let code: FieldTableError.Code
        let reason: String
    }

    /// One element of `rows` as in the file.
    fileprivate struct Entry {
        let type: String
        let subtype: String
        let when: [String]?
        let profile: String?
        let sends: [String]
        let says: String?
        let loss: String?

        private static let keys = ["type", "subtype", "when", "profile", "sends", "says", "loss"]

        init(_ element: DocumentValue?) throws(Fault) {
            guard let object = element?.object else { throw Fault(code: .malformed, reason: "not a JSON object") }
            for key in object.members.map(\.name).sorted() where !Self.keys.contains(key) {
                throw Fault(code: .unknownKey, reason: "unknown key \(key)")
            }
            func value<Value>(_ key: String, _ read: (DocumentValue) -> Value?) throws(Fault) -> Value? {
                guard let member = object[key] else { return nil }
                guard let value = read(member) else {
                    throw Fault(code: .malformed, reason: "\(key) has a value of another type")
                }
                return value
            }
            func required<Value>(_ key: String, _ value: Value?) throws(Fault) -> Value {
                guard let value else { throw Fault(code: .malformed, reason: "missing key \(key)") }
                return value
            }
            func text(_ value: DocumentValue) -> String? { value.string == nil ? nil : value.text }
            func texts(_ value: DocumentValue) -> [String]? {
                let texts = value.elements?.map { $0.flatMap(text) }
                return texts.flatMap { $0.contains(nil) ? nil : $0.compactMap(\.self) }
            }
            type = try required("type", value("type", text))
            subtype = try required("subtype", value("subtype", text))
            when = try value("when", texts)
            profile = try value("profile", text)
            sends = try required("sends", value("sends", texts))
            says = try value("says", text)
            loss = try value("loss", text)
        }
    }
}

extension NotificationTable.Row {
    /// Converts an entry and checks its words.
    fileprivate init(_ entry: NotificationTable.Entry) throws(NotificationTable.Fault) {
        /// Returns the words if all of them are known; `nil` stands for an unknown word.
        func known<Word>(
            _ words: [Word?], _ code: FieldTableError.Code, _ reason: String
        ) throws(NotificationTable.Fault) -> [Word] {
            guard words.allSatisfy({ $0 != nil }) else { throw NotificationTable.Fault(code: code, reason: reason) }
            return words.compactMap { $0 }
        }
        guard NotificationType(rawValue: entry.type).isKnown else {
            throw NotificationTable.Fault(code: .unknownModel, reason: "unknown version 2 type")
        }
        guard ["true", "false", nil].contains(entry.says) else {
            throw NotificationTable.Fault(code: .malformed, reason: "says must be true or false")
        }
        type = entry.type
        subtype = entry.subtype
        conditions = try known(
            (entry.when ?? []).map(NotificationCondition.init(rawValue:)), .unknownConversion,
            "when contains an unknown condition")
        profile = try known(
            [entry.profile].compactMap { $0 }.map(NotificationV1Profile.init(rawValue:)), .unknownModel,
            "unknown profile"
        ).first
        sends = try known(
            entry.sends.map(NotificationV1Type.init(rawValue:)), .badWire, "sends contains an unknown version 1 type")
        says = entry.says.map { $0 == "true" }
        loss = entry.loss
        guard !sends.isEmpty || loss?.isEmpty == false else {
            throw NotificationTable.Fault(code: .missingKey, reason: "sends nothing, but has no loss")
        }
    }

    /// Returns whether this row matches everything that the other row matches.
    fileprivate func makesUnreachable(_ other: Self) -> Bool {
        type == other.type && (subtype == "*" || subtype == other.subtype)
            && (profile == nil || profile == other.profile) && Set(conditions).isSubset(of: other.conditions)
    }

    /// Returns whether this row always matches the type and subtype, without conditions and in every profile.
    fileprivate func alwaysMatches(_ type: String, _ subtype: String) -> Bool {
        matches(type, subtype) && profile == nil && conditions.isEmpty
    }
}
