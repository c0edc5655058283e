import AppStore
import StoreTypes

/// A camelCase document, its parts read on demand.
struct ServerAPIDocument {
    let root: ServerAPIRecord

    init(_ members: [String: JSONTree]) {
        root = ServerAPIRecord(members: members, place: "")
    }

    /// The receipt's own properties.
    func receipt() throws(ConversionError) -> ServerAPIRecord? {
        guard let node = root["receipt"]?.present else { return nil }
        guard var members = node.members else { throw error("receipt", "an object") }
        if let type = members["receiptType"] { members["receiptType"] = .text(Self.receiptType(type)) }
        return ServerAPIRecord(members: members, place: "receipt")
    }

    /// Whether its transactions are a customer's history: without a receipt, as the App Store Server API gives it, or beside
    /// one, as the view of `/v1/receipts` does.
    func isHistory() throws(ConversionError) -> Bool {
        (root["receipt"]?.present == nil || root["subscriptions"] != nil)
            && root[DocumentKey.latestTransactions] == nil && root[DocumentKey.transactions] != nil
    }

    /// Where the view says that a subscription stands: 1 active, 2 expired, 3 in billing retry, 4 in grace, 5 revoked; nil
    /// where it says nothing of it.
    func subscriptionStatus(of originalTransactionId: String?) throws(ConversionError) -> Int64? {
        let subscription = try records("subscriptions")?.first {
            $0["originalTransactionId"]?.asText == originalTransactionId && originalTransactionId != nil
        }
        return subscription?["status"]?.asText.flatMap { Int64($0) }
    }

    /// What a history says of the receipt that it stands for.
    var receiptOfHistory: ServerAPIRecord {
        var members = root.members
        if members["bundleId"]?.present == nil {
            members["bundleId"] =
                root[DocumentKey.transactions]?.elements?.lazy
                .compactMap { $0.members?["bundleId"]?.present }.first
        }
        members["receiptType"] = root["environment"].map { .text(Self.receiptType($0)) }
        // In the sandbox an app has no number.
        if root["environment"]?.asText == AppStoreEnvironment.sandbox.rawValue { members["appAppleId"] = .text("0") }
        return ServerAPIRecord(members: members, place: "")
    }

    func transactions(_ key: String) throws(ConversionError) -> [ServerAPITransaction]? {
        guard let records = try records(key) else { return nil }
        let isHistory = try isHistory()
        var transactions: [ServerAPITransaction] = []
        for record in records {
            transactions.append(
                ServerAPITransaction(
                    record: record, payload: try record.payload(TransactionField.self), isOfHistory: isHistory))
        }
        return transactions
    }

    /// `renewals`, or the `renewalInfo` of each of `subscriptions`.
    func renewals() throws(ConversionError) -> [RenewalPayload]? {
        let subscriptions = try records("subscriptions")?.compactMap { subscription in
            subscription["renewalInfo"]?.members.map {
                ServerAPIRecord(members: $0, place: "\(subscription.place).renewalInfo")
            }
        }
        guard let records = try records(DocumentKey.renewals) ?? subscriptions else { return nil }
        var renewals: [RenewalPayload] = []
        for record in records { renewals.append(try record.payload(RenewalField.self)) }
        return renewals
    }

    private func records(_ key: String) throws(ConversionError) -> [ServerAPIRecord]? {
        guard let node = root[key] else { return nil }
        guard let elements = node.elements else { throw error(key, "an array of objects") }
        var records: [ServerAPIRecord] = []
        for (index, element) in elements.enumerated() {
            guard let members = element.members else { throw error("\(key)[\(index)]", "an object") }
            records.append(ServerAPIRecord(members: members, place: "\(key)[\(index)]"))
        }
        return records
    }

    private func error(_ place: String, _ what: String) -> ConversionError {
        ConversionError(code: .badValue, place: place, reason: "expected \(what)")
    }

    /// Receipts of the sandbox call themselves so.
    private static func receiptType(_ type: JSONTree) -> String {
        let type = type.asText ?? ""
        return type == "Sandbox" ? "ProductionSandbox" : type
    }
}

/// A transaction of a document: its payload, and what stands beside.
struct ServerAPITransaction {
    let record: ServerAPIRecord
    let payload: TransactionPayload
    let isOfHistory: Bool

    /// As the payload has it where it has such a property; else as it stands.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        // A payload without a quantity means one; a row of an answer without it was written so.
        if !isOfHistory, field.rawValue == TransactionField.quantity.rawValue, record[field.rawValue] == nil {
            return nil
        }
        // `null`: the row of the answer does not have the flag.
        if !isOfHistory, record.members[field.rawValue] == .null,
            TransactionField.offerFlags.contains(where: { $0.rawValue == field.rawValue })
        {
            return nil
        }
        let mapped = TransactionField(rawValue: field.rawValue).flatMap { $0.value(of: payload) }
        if let mapped {
            let value = mapped.becoming(field.kind)
            // Ownership has values without a name, for which there is no key; a number is one or is not.
            guard value != nil || field.kind == .ownership else {
                throw ConversionError(
                    code: .badValue, place: "\(record.place).\(field.rawValue)",
                    reason: "expected a whole number of 64 bits")
            }
            return value
        }
        return TransactionField.answered.contains(field.rawValue) ? nil : try record.value(field)
    }
}

extension TransactionField {
    /// Those for which a payload's silence is an answer: the rules decided that nothing is said.
    fileprivate static let answered: Set<String> = Set(FieldTables.bundled.transaction.rows.map(\.field.rawValue))
}

extension ServerAPIRecord {
    /// The receipt of an iOS 6 answer is one transaction.
    var isFlat: Bool {
        (self["transactionId"] ?? self["originalTransactionId"] ?? self["productId"]) != nil
    }
}
