import AppStorePayloads
import Base

/// A mutable camelCase object that keeps its members in the order in which they were added.
struct ServerAPIObject {
    /// The names in the order in which they were added.
    private var names: [String] = []
    private var values: [String: JSONScalar] = [:]

    var isEmpty: Bool { names.isEmpty }

    /// The value of a member. Setting `nil` removes the member; a new member is added at the end.
    subscript(name: String) -> JSONScalar? {
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

    /// Removes a member and returns its value.
    mutating func take(_ name: String) -> JSONScalar? {
        defer { self[name] = nil }
        return self[name]
    }

    mutating func removeAll(where isUnwanted: (String) -> Bool) {
        for name in names where isUnwanted(name) { self[name] = nil }
    }

    /// Writes the object with its members in order.
    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for name in names {
            guard let value = values[name] else { continue }
            writer.key(name)
            writer.value(value)
        }
        writer.endObject()
    }
}

/// Converts what verifyReceipt expresses differently from the App Store Server API.
extension ServerAPIObject {
    /// Converts a transaction: offers, upgrades, the case of the token, and the product type if it can be derived.
    mutating func normalizeTransaction(bundleId: JSONScalar?, environment: JSONScalar?) {
        convertOffer()
        // An upgrade is not a refund, although responses from 2020 and before mark it as one.
        if self["isUpgraded"] == .flag(true) {
            self["revocationDate"] = nil
            self["revocationReason"] = nil
        } else if self["isUpgraded"] == .flag(false) {
            self["isUpgraded"] = nil
        }
        if case .text(let token)? = self["appAccountToken"] { self["appAccountToken"] = .text(token.lowercased()) }
        // Only auto-renewable subscriptions expire. The type of other products is known from a receipt, but not from
        // a response.
        if self["type"] == nil, self["expiresDate"] != nil {
            self["type"] = .text(AppStorePayloads.ProductType.autoRenewable.rawValue)
        }
        if self["bundleId"] == nil { self["bundleId"] = bundleId }
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// Converts a transaction of a response. A flag that the row does not have becomes `null`, so that the opposite
    /// conversion does not add it: old rows have neither flag, and rows from before 2017 have no
    /// `is_in_intro_offer_period`.
    mutating func normalizeRow(bundleId: JSONScalar?, environment: JSONScalar?) {
        let missing = TransactionField.offerFlags.filter { self[$0.rawValue] == nil }
        normalizeTransaction(bundleId: bundleId, environment: environment)
        // The opposite conversion writes the second flag only for auto-renewable subscriptions.
        for field in missing where field == .isTrialPeriod || self["expiresDate"] != nil {
            self[field.rawValue] = .null
        }
    }

    /// Converts a renewal of a response.
    mutating func normalizeRenewal(environment: JSONScalar?) {
        convertOffer()
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// Replaces `isTrialPeriod`, `isInIntroOfferPeriod`, `promotionalOfferId` and `offerCodeRefName` by `offerType`,
    /// `offerIdentifier` and `offerDiscountType`.
    ///
    /// A paid introductory offer gets no discount type, because a response does not say whether it was paid up front.
    /// If both flags are true, which was never observed, the offer is a trial.
    mutating func convertOffer() {
        let isTrial = take("isTrialPeriod") == .flag(true)
        let isIntroduction = take("isInIntroOfferPeriod") == .flag(true)
        let promotional = take("promotionalOfferId").flatMap { $0 == .text("") ? nil : $0 }
        let code = take("offerCodeRefName").flatMap { $0 == .text("") ? nil : $0 }
        let type: OfferType? =
            promotional != nil
            ? .promotional : code != nil ? .offerCode : isTrial || isIntroduction ? .introductory : nil
        guard let type else { return }
        self["offerType"] = .integer(type.rawValue)
        self["offerIdentifier"] = promotional ?? code
        if isTrial { self["offerDiscountType"] = .text(OfferDiscountType.freeTrial.rawValue) }
    }
}

extension TransactionField {
    /// The flags of an offer. Rows without an offer have them, too.
    static let offerFlags: [TransactionField] = [.isTrialPeriod, .isInIntroOfferPeriod]
}
