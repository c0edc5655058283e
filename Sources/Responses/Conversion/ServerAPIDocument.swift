import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// A camelCase document whose parts are read on demand.
struct ServerAPIDocument {
    let root: LocatedObject

    func receipt() throws(ConversionError) -> LocatedObject? { try root.object("receipt") }

    /// The environment that the document names, otherwise production; `nil` if there is no such environment.
    var environment: AppStoreEnvironment? {
        guard let name = root["environment"]?.text else { return .production }
        return AppStoreEnvironment(rawValue: name)
    }

    /// Whether the transactions are a customer's history. This is so if there is no receipt, as in responses of the App
    /// Store Server API, or if there are `subscriptions`, as in the view of `/v1/receipts`.
    var isHistory: Bool {
        (root["receipt"] == nil || root["subscriptions"] != nil)
            && root[DocumentKey.latestTransactions] == nil && root[DocumentKey.transactions] != nil
    }

    /// Returns the status of a subscription according to the customer view: 1 active, 2 expired, 3 in billing retry,
    /// 4 in grace period, 5 revoked; `nil` if the view does not contain the subscription.
    func subscriptionStatus(of originalTransactionId: String?) throws(ConversionError) -> Int64? {
        let subscription = try root.objects("subscriptions")?.first {
            $0["originalTransactionId"]?.text == originalTransactionId && originalTransactionId != nil
        }
        return subscription?["status"]?.text.flatMap { Int64($0) }
    }

    /// Returns a property of a receipt; `nil` if it is absent. Without a receipt, it is derived from the history.
    func value(_ field: AppReceiptField, of receipt: LocatedObject?) throws(ConversionError) -> FieldValue? {
        switch field {
        case .receiptType:
            let type = receipt == nil ? root["environment"] : receipt?[field.rawValue]
            return type.map { .text(Self.receiptType($0.text ?? "")) }
        case .bundleId where receipt == nil && root[field.rawValue] == nil:
            return try root.objects(DocumentKey.transactions)?.first { $0[field.rawValue] != nil }?.value(field)
        // Sandbox receipts always have the app id 0.
        case .appAppleId
        where receipt == nil && root["environment"]?.text == AppStoreEnvironment.sandbox.rawValue:
            return .number(0)
        default:
            return try (receipt ?? root).value(field)
        }
    }

    func transactions(_ key: String) throws(ConversionError) -> [ServerAPITransaction]? {
        guard let objects = try root.objects(key) else { return nil }
        let isHistory = isHistory
        var transactions: [ServerAPITransaction] = []
        for object in objects {
            transactions.append(
                ServerAPITransaction(
                    object: object, payload: try object.payload(TransactionKey.self), isFromHistory: isHistory))
        }
        return transactions
    }

    /// Returns `renewals`, or the `renewalInfo` of each element of `subscriptions`.
    func renewals() throws(ConversionError) -> [ServerAPIRenewal]? {
        let subscriptions = try root.objects("subscriptions")?.compactMap { subscription in
            subscription["renewalInfo"]?.object.map {
                LocatedObject(object: $0, path: subscription.path(of: "renewalInfo"))
            }
        }
        guard let objects = try root.objects(DocumentKey.renewals) ?? subscriptions else { return nil }
        var renewals: [ServerAPIRenewal] = []
        for object in objects {
            renewals.append(ServerAPIRenewal(object: object, payload: try object.payload(RenewalKey.self)))
        }
        return renewals
    }

    /// Returns the receipt type for an environment: sandbox receipts have the type `ProductionSandbox`.
    private static func receiptType(_ type: String) -> String { type == "Sandbox" ? "ProductionSandbox" : type }
}

/// A transaction of a document: its payload, and its properties that the payload does not have.
struct ServerAPITransaction {
    let object: LocatedObject
    /// The same object as a signed payload of the App Store Server API has it.
    let payload: TransactionPayload
    let isFromHistory: Bool

    /// Returns the value of the payload if it has this property; otherwise the value in the document. A key of an offer
    /// that the document has itself is not derived from the offer.
    func value<Field: ModelField>(_ field: Field) throws(ConversionError) -> FieldValue? {
        // A payload without a quantity means 1. A row of a response without a quantity was written without it.
        if !isFromHistory, field.rawValue == TransactionKey.quantity.rawValue, object[field.rawValue] == nil {
            return nil
        }
        guard let key = TransactionKey(rawValue: field.rawValue) else { return try object.value(field) }
        if TransactionKey.offerKeys.contains(key) {
            if object[field.rawValue] != nil { return try object.value(field) }
            // `null` means that the row of the response did not have the flag.
            if !isFromHistory, object.object.isNull(field.rawValue) { return nil }
        }
        guard let mapped = key.value(of: payload).present else { return nil }
        let value = mapped.converted(to: field.kind)
        // An ownership without a known name gives no key. A number must be valid.
        guard value != nil || field.kind == .ownership else {
            throw object.error(field.rawValue, "a whole number of 64 bits")
        }
        return value
    }
}

struct ServerAPIRenewal {
    let object: LocatedObject
    /// The same object as a signed payload of the App Store Server API has it.
    let payload: RenewalPayload

    /// Returns the value of the payload. A key of an offer that the document has itself is not derived from the offer.
    func value(_ field: RenewalField, _ claims: inout PayloadClaims) throws(ConversionError) -> FieldValue {
        guard TransactionKey.offerKeys.contains(where: { $0.rawValue == field.rawValue }),
            let own = try object.value(field)
        else { return field.value(of: payload, &claims) }
        return own
    }
}

extension LocatedObject {
    /// Whether a receipt of a camelCase document is an iOS 6 receipt, which is a single transaction.
    var isFlat: Bool { (self["transactionId"] ?? self["originalTransactionId"] ?? self["productId"]) != nil }
}
