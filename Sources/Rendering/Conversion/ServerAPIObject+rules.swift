import AppStore

/// What verifyReceipt says in other words than the App Store Server API.
extension ServerAPIObject {
    /// A transaction of the rows' words: offers, upgrades, the token's case, and the type where it can be told.
    mutating func becomeTransaction(bundleId: JSONTree?, environment: JSONTree?) {
        sayOffer()
        // An upgrade is no refund, although answers of 2020 and before dress it as one.
        if self["isUpgraded"] == .flag(true) {
            self["revocationDate"] = nil
            self["revocationReason"] = nil
        } else if self["isUpgraded"] == .flag(false) {
            self["isUpgraded"] = nil
        }
        if case .text(let token)? = self["appAccountToken"] { self["appAccountToken"] = .text(token.lowercased()) }
        // Only auto-renewables expire; of all else an answer does not tell the kind, but a receipt does.
        if self["type"] == nil, self["expiresDate"] != nil {
            self["type"] = .text(AppStore.ProductType.autoRenewable.rawValue)
        }
        if self["bundleId"] == nil { self["bundleId"] = bundleId }
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// A transaction that stands in an answer. A flag that the row does not have is `null`, so that the way back does not
    /// invent it: old rows have neither flag, and those before 2017 no `is_in_intro_offer_period`.
    mutating func becomeRow(bundleId: JSONTree?, environment: JSONTree?) {
        let missing = TransactionField.offerFlags.filter { self[$0.rawValue] == nil }
        becomeTransaction(bundleId: bundleId, environment: environment)
        // The way back gives the second flag to auto-renewables only.
        for field in missing where field == .isTrialPeriod || self["expiresDate"] != nil {
            self[field.rawValue] = .null
        }
    }

    /// A renewal of the rows' words.
    mutating func becomeRenewal(environment: JSONTree?) {
        sayOffer()
        if self["environment"] == nil { self["environment"] = environment }
    }

    /// `isTrialPeriod`, `isInIntroOfferPeriod`, `promotionalOfferId` and `offerCodeRefName` as `offerType`,
    /// `offerIdentifier` and `offerDiscountType`.
    ///
    /// A paid introduction has no discount type: an answer does not say whether it was paid up front. Where both flags
    /// stand, which nobody has seen, it is a trial.
    mutating func sayOffer() {
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
    /// The flags of an offer, which a row without an offer has as well.
    static let offerFlags: [TransactionField] = [.isTrialPeriod, .isInIntroOfferPeriod]
}
