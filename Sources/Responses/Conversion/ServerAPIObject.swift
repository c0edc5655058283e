import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// A mutable camelCase object that keeps its members in the order in which they were added.
struct ServerAPIObject {
    /// The names in the order in which they were added.
    private var names: [String] = []
    private var values: [String: FieldValue] = [:]

    var isEmpty: Bool { names.isEmpty }

    /// The value of a member. Setting `nil` removes the member; a new member is added at the end.
    subscript(name: String) -> FieldValue? {
        get { values[name] }
        set {
            if newValue == nil {
                names.removeAll { $0 == name }
            } else if values[name] == nil {
                names.append(name)
            }
            values[name] = newValue
        }
    }

    mutating func take(_ name: String) -> FieldValue? {
        defer { self[name] = nil }
        return self[name]
    }

    mutating func removeAll(where isUnwanted: (String) -> Bool) {
        for name in names where isUnwanted(name) { self[name] = nil }
    }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for name in names {
            guard let value = values[name] else { continue }
            writer.key(name)
            writer.camelCase(value)
        }
        writer.endObject()
    }
}

/// Converts what verifyReceipt expresses differently from the App Store Server API.
extension ServerAPIObject {
    /// Converts a transaction: offers, upgrades, the case of the token, and the product type if it can be derived.
    mutating func normalizeTransaction(bundleId: FieldValue?, environment: FieldValue?) {
        convertOffer()
        // An upgrade is not a refund, although responses from 2020 and before mark it as one.
        if self["isUpgraded"] == .flag(1) {
            self["revocationDate"] = nil
            self["revocationReason"] = nil
        } else if self["isUpgraded"] == .flag(0) {
            self["isUpgraded"] = nil
        }
        if case .text(let token?)? = self["appAccountToken"] { self["appAccountToken"] = .text(token.lowercased()) }
        // Only auto-renewable subscriptions expire. The type of other products is known from a receipt, but not from
        // a response.
        if self["type"] == nil, self["expiresDate"] != nil {
            self["type"] = .text(ProductType.autoRenewable.rawValue)
        }
        if self["bundleId"] == nil { self["bundleId"] = bundleId }
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// Converts a transaction of a response, and keeps the keys of its offer that the opposite conversion would not
    /// write in the same way.
    ///
    /// A flag that the row does not have becomes `null`: old rows have neither flag, and rows from before 2017 have no
    /// `is_in_intro_offer_period`. Only rows of auto-renewable subscriptions get that flag.
    mutating func normalizeRow(bundleId: FieldValue?, environment: FieldValue?) {
        let original = self
        normalizeTransaction(bundleId: bundleId, environment: environment)
        let offer = TransactionPayload(offerOf: self)
        for field in TransactionKey.offerKeys where field != .isInIntroOfferPeriod || self["expiresDate"] != nil {
            keep(original[field.rawValue], of: field, insteadOf: field.value(of: offer))
        }
    }

    /// Converts a renewal of a response, and keeps the keys of its offer like ``normalizeRow(bundleId:environment:)``.
    mutating func normalizeRenewal(environment: FieldValue?) {
        let original = self
        convertOffer()
        let offer = TransactionPayload(offerOf: self)
        for field in TransactionKey.offerKeys where RenewalKey(rawValue: field.rawValue) != nil {
            keep(original[field.rawValue], of: field, insteadOf: field.value(of: offer))
        }
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// Keeps the original value of a key unless it equals the one that follows from the converted offer.
    private mutating func keep(_ original: FieldValue?, of field: TransactionKey, insteadOf value: FieldValue) {
        guard original != value.present, original != .text("") else { return }
        self[field.rawValue] = original ?? .text(nil)
    }

    /// Replaces the ``TransactionKey/offerKeys`` by `offerType`, `offerIdentifier` and `offerDiscountType`.
    ///
    /// The name of an offer code decides about the type, because the row of a redeemed code has both identifiers. If
    /// both flags are true, the offer is a free trial. A paid introductory offer gets no discount type, because a
    /// response does not say whether it was paid up front.
    mutating func convertOffer() {
        let keys = TransactionKey.offerKeys.map { take($0.rawValue) }
        let (isTrial, isIntroduction) = (keys[0] == .flag(1), keys[1] == .flag(1))
        let (promotional, code) = (keys[2]?.nonEmptyText, keys[3]?.nonEmptyText)
        let type: OfferType? =
            code != nil
            ? .offerCode : promotional.map(OfferType.named) ?? (isTrial || isIntroduction ? .introductory : nil)
        guard let type else { return }
        self["offerType"] = .number(type.rawValue)
        self["offerIdentifier"] = (type == .promotional ? promotional : code).map(FieldValue.text)
        if isTrial { self["offerDiscountType"] = .text(OfferDiscountType.freeTrial.rawValue) }
    }
}

extension FieldValue {
    fileprivate var nonEmptyText: String? {
        if case .text(let text?) = self, !text.isEmpty { text } else { nil }
    }

    fileprivate var number: Int64? { if case .number(let number) = self { number } else { nil } }
    fileprivate var instant: Timestamp? { if case .instant(let instant) = self { instant } else { nil } }
}

extension TransactionPayload {
    /// The properties of a converted row that decide about the keys of its offer.
    fileprivate init(offerOf object: ServerAPIObject) {
        self.init()
        offerType = object["offerType"]?.number
        offerIdentifier = object["offerIdentifier"]?.nonEmptyText
        offerDiscountType = object["offerDiscountType"]?.nonEmptyText
        purchaseDate = object["purchaseDate"]?.instant
        expiresDate = object["expiresDate"]?.instant
        type = object["type"]?.nonEmptyText
    }
}

/// Builds camelCase transactions from receipts. They contain only properties that a JWSTransaction has;
/// ``ServerAPIObject/normalizeTransaction(bundleId:environment:)`` then converts their values.
extension ServerAPIObject {
    /// Creates the transaction of a purchase in an App Receipt, in the order of the table.
    init(_ purchase: InAppPurchase, table: FieldTable<InAppField>) {
        self.init()
        for (field, _) in table.camelCase where field != .productAppleId {
            self[field.rawValue] = field.value(of: purchase).ofTransaction
        }
    }

    /// Creates the single transaction of an iOS 6 receipt, in the order of the table.
    init(_ receipt: TransactionReceipt, table: FieldTable<PurchaseInfoField>) {
        self.init()
        for row in table.rows where row.field.belongsToTransaction && row.field != .productAppleId {
            guard let key = row.propertyListKey, let text = receipt[key], !text.isEmpty else { continue }
            let value = FieldValue(text, as: row.field.kind)
            // A JWSTransaction has numbers and booleans, so other texts have no place in it.
            if row.field.kind != .text, case .text? = value { continue }
            self[row.field.rawValue] = value
        }
        if let date = receipt.revocationDate, self[PurchaseInfoField.revocationDate.rawValue] == nil {
            self[PurchaseInfoField.revocationDate.rawValue] = .instant(date)
            self[PurchaseInfoField.revocationReason.rawValue] = receipt.revocationReason.map(FieldValue.number)
        }
        let lineItem = PurchaseInfoField.webOrderLineItemId.rawValue
        if self[lineItem] == .text("0") { self[lineItem] = nil }
    }
}

extension FieldValue {
    /// The value in the spelling of a JWSTransaction; `nil` if a JWSTransaction has no such value, and for the number 0
    /// of an identifier, which means that there is none.
    fileprivate var ofTransaction: FieldValue? {
        switch self {
        case .identifier(0): nil
        case .identifier(let number?): .text(String(number))
        case .ownership(let number?): Self.ownershipName(number).map { .text($0.description) }
        case .productType(let type?): type == .freeSubscription ? nil : type.displayName.map(FieldValue.text)
        case .bytes, .attributes: nil
        default: present
        }
    }
}
