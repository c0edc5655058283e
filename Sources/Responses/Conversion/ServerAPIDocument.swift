import AppStorePayloads
import Base

/// A camelCase document whose parts are read on demand.
struct ServerAPIDocument {
    /// The top-level object.
    let root: ServerAPIRecord

    init(_ members: [String: JSONTree]) {
        root = ServerAPIRecord(members: members, path: "")
    }

    /// Returns the receipt's own properties.
    func receipt() throws(ConversionError) -> ServerAPIRecord? {
        guard let node = root["receipt"]?.present else { return nil }
        guard var members = node.members else { throw error("receipt", "an object") }
        if let type = members["receiptType"] { members["receiptType"] = .text(Self.receiptType(type)) }
        return ServerAPIRecord(members: members, path: "receipt")
    }

    /// Returns whether the transactions are a customer's history. This is so if there is no receipt, as in responses
    /// of the App Store Server API, or if there are `subscriptions`, as in the view of `/v1/receipts`.
    func isHistory() throws(ConversionError) -> Bool {
        (root["receipt"]?.present == nil || root["subscriptions"] != nil)
            && root[DocumentKey.latestTransactions] == nil && root[DocumentKey.transactions] != nil
    }

    /// Returns the status of a subscription according to the customer view: 1 active, 2 expired, 3 in billing retry,
    /// 4 in grace period, 5 revoked; `nil` if the view does not contain the subscription.
    func subscriptionStatus(of originalTransactionId: String?) throws(ConversionError) -> Int64? {
        let subscription = try records("subscriptions")?.first {
            $0["originalTransactionId"]?.asText == originalTransactionId && originalTransactionId != nil
        }
        return subscription?["status"]?.asText.flatMap { Int64($0) }
    }

    /// The properties of the receipt that can be derived from a history.
    var receiptOfHistory: ServerAPIRecord {
        var members = root.members
        if members["bundleId"]?.present == nil {
            members["bundleId"] =
                root[DocumentKey.transactions]?.elements?.lazy
                .compactMap { $0.members?["bundleId"]?.present }.first
        }
        members["receiptType"] = root["environment"].map { .text(Self.receiptType($0)) }
        // Sandbox receipts always have the app id 0.
        if root["environment"]?.asText == AppStoreEnvironment.sandbox.rawValue { members["appAppleId"] = .text("0") }
        return ServerAPIRecord(members: members, path: "")
    }

    /// Returns the transactions of an array; `nil` if it is absent.
    func transactions(_ key: String) throws(ConversionError) -> [ServerAPITransaction]? {
        guard let records = try records(key) else { return nil }
        let isHistory = try isHistory()
        var transactions: [ServerAPITransaction] = []
        for record in records {
            transactions.append(
                ServerAPITransaction(
                    record: record, payload: try record.payload(TransactionField.self), isFromHistory: isHistory))
        }
        return transactions
    }

    /// Returns `renewals`, or the `renewalInfo` of each element of `subscriptions`.
    func renewals() throws(ConversionError) -> [RenewalPayload]? {
        let subscriptions = try records("subscriptions")?.compactMap { subscription in
            subscription["renewalInfo"]?.members.map {
                ServerAPIRecord(members: $0, path: "\(subscription.path).renewalInfo")
            }
        }
        guard let records = try records(DocumentKey.renewals) ?? subscriptions else { return nil }
        var renewals: [RenewalPayload] = []
        for record in records { renewals.append(try record.payload(RenewalField.self)) }
        return renewals
    }

    /// Returns the objects of an array with their paths; `nil` if it is absent.
    private func records(_ key: String) throws(ConversionError) -> [ServerAPIRecord]? {
        guard let node = root[key] else { return nil }
        guard let elements = node.elements else { throw error(key, "an array of objects") }
        var records: [ServerAPIRecord] = []
        for (index, element) in elements.enumerated() {
            guard let members = element.members else { throw error("\(key)[\(index)]", "an object") }
            records.append(ServerAPIRecord(members: members, path: "\(key)[\(index)]"))
        }
        return records
    }

    private func error(_ place: String, _ what: String) -> ConversionError {
        ConversionError(code: .badValue, place: place, reason: "expected \(what)")
    }

    /// Returns the receipt type for an environment: sandbox receipts have the type `ProductionSandbox`.
    private static func receiptType(_ type: JSONTree) -> String {
        let type = type.asText ?? ""
        return type == "Sandbox" ? "ProductionSandbox" : type
    }
}

/// A transaction of a document: its payload, and its properties that the payload does not have.
struct ServerAPITransaction {
    /// The object in the document.
    let record: ServerAPIRecord
    /// The same object as a signed payload of the App Store Server API has it.
    let payload: TransactionPayload
    /// Whether it is part of a customer's history instead of a converted response.
    let isFromHistory: Bool

    /// Returns the value of the payload if it has this property; otherwise the value in the document.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        // A payload without a quantity means 1. A row of a response without a quantity was written without it.
        if !isFromHistory, field.rawValue == TransactionField.quantity.rawValue, record[field.rawValue] == nil {
            return nil
        }
        // `null` means that the row of the response did not have the flag.
        if !isFromHistory, record.members[field.rawValue] == .null,
            TransactionField.offerFlags.contains(where: { $0.rawValue == field.rawValue })
        {
            return nil
        }
        let mapped = TransactionField(rawValue: field.rawValue)?.value(of: payload).present
        if let mapped {
            let value = mapped.converted(to: field.kind)
            // An ownership without a known name gives no key. A number must be valid.
            guard value != nil || field.kind == .ownership else {
                throw ConversionError(
                    code: .badValue, place: "\(record.path).\(field.rawValue)",
                    reason: "expected a whole number of 64 bits")
            }
            return value
        }
        return TransactionField.answered.contains(field.rawValue) ? nil : try record.value(field)
    }
}

extension TransactionField {
    /// The properties whose absence from the payload is final, because the rules for responses decided it.
    fileprivate static let answered: Set<String> = Set(FieldTables.bundled.transaction.rows.map(\.field.rawValue))
}

extension ServerAPIRecord {
    /// Whether the object is an iOS 6 receipt, which is a single transaction.
    var isFlat: Bool {
        (self["transactionId"] ?? self["originalTransactionId"] ?? self["productId"]) != nil
    }
}
