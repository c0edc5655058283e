/// `type` of a transaction, and the words that ask for it in a history request: two spellings of one thing.
///
/// https://developer.apple.com/documentation/appstoreserverapi/type
package struct ProductType: RawRepresentable, Sendable, Hashable {
    /// As payloads spell it.
    package let rawValue: String

    /// Any text; values without a name here survive.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Renews by itself.
    package static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")
    /// Bought once.
    package static let nonConsumable = Self(rawValue: "Non-Consumable")
    /// Bought again and again.
    package static let consumable = Self(rawValue: "Consumable")
    /// Ends by itself, without a date that Apple knows.
    package static let nonRenewing = Self(rawValue: "Non-Renewing Subscription")

    /// As the parameter `productType` of the history spells it; nil for values without a name here.
    package var queryValue: String? {
        switch self {
        case .autoRenewable: "AUTO_RENEWABLE"
        case .nonConsumable: "NON_CONSUMABLE"
        case .consumable: "CONSUMABLE"
        case .nonRenewing: "NON_RENEWABLE"
        default: nil
        }
    }
}

/// `inAppOwnershipType`.
///
/// https://developer.apple.com/documentation/appstoreserverapi/inappownershiptype
package struct OwnershipType: RawRepresentable, Sendable, Hashable {
    /// As Apple spells it.
    package let rawValue: String

    /// Any text; values without a name here survive.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought it.
    package static let purchased = Self(rawValue: "PURCHASED")
    /// Somebody in the customer's family bought it.
    package static let familyShared = Self(rawValue: "FAMILY_SHARED")
}

/// `offerType`.
///
/// https://developer.apple.com/documentation/appstoreserverapi/offertype
package struct OfferType: RawRepresentable, Sendable, Hashable {
    /// Apple's number.
    package let rawValue: Int64

    /// Any number; those without a name here survive.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// For new subscribers.
    package static let introductory = Self(rawValue: 1)
    /// For present and former subscribers, chosen by the app.
    package static let promotional = Self(rawValue: 2)
    /// By a code.
    package static let offerCode = Self(rawValue: 3)
    /// For former subscribers, chosen by the App Store.
    package static let winBack = Self(rawValue: 4)
}

/// `offerDiscountType`.
///
/// https://developer.apple.com/documentation/appstoreserverapi/offerdiscounttype
package struct OfferDiscountType: RawRepresentable, Sendable, Hashable {
    /// As Apple spells it.
    package let rawValue: String

    /// Any text; values without a name here survive.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is paid.
    package static let freeTrial = Self(rawValue: "FREE_TRIAL")
    /// Paid period by period.
    package static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    /// Paid at once for several periods.
    package static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    /// Paid once.
    package static let oneTime = Self(rawValue: "ONE_TIME")
}
