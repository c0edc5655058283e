/// The type of a product. A value without a name here is preserved, as in the other types of this kind.
public struct ProductType: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: String
    /// Accepts a value that has no constant here, too.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription that renews until it is canceled.
    public static let autoRenewableSubscription = Self(rawValue: "Auto-Renewable Subscription")
    /// Bought once, and kept.
    public static let nonConsumable = Self(rawValue: "Non-Consumable")
    /// Used up, and bought again.
    public static let consumable = Self(rawValue: "Consumable")
    /// A subscription without renewal, whose end the app decides.
    public static let nonRenewingSubscription = Self(rawValue: "Non-Renewing Subscription")
}

/// The relation of a customer to a purchase: bought, or shared by the family.
public struct InAppOwnershipType: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: String
    /// Accepts a value that has no constant here, too.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought it.
    public static let purchased = Self(rawValue: "PURCHASED")
    /// A member of the family bought it.
    public static let familyShared = Self(rawValue: "FAMILY_SHARED")
}

/// The type of an offer.
public struct OfferType: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: Int64
    /// Accepts a value that has no constant here, too.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// For new subscribers.
    public static let introductoryOffer = Self(rawValue: 1)
    /// For current and former subscribers, signed by the developer.
    public static let promotionalOffer = Self(rawValue: 2)
    /// With a code that the developer gave out.
    public static let offerCode = Self(rawValue: 3)
    /// For former subscribers, from the App Store.
    public static let winBackOffer = Self(rawValue: 4)
}

/// The payment mode of an offer.
public struct OfferDiscountType: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: String
    /// Accepts a value that has no constant here, too.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is paid.
    public static let freeTrial = Self(rawValue: "FREE_TRIAL")
    /// A lower price in each period.
    public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    /// One lower price for the whole offer.
    public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    /// A lower price for one purchase.
    public static let oneTime = Self(rawValue: "ONE_TIME")
}

/// The state of a subscription.
public struct Status: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: Int64
    /// Accepts a value that has no constant here, too.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The subscription is active.
    public static let active = Self(rawValue: 1)
    /// The subscription has expired.
    public static let expired = Self(rawValue: 2)
    /// The payment failed, and the App Store retries it; there is no access.
    public static let billingRetry = Self(rawValue: 3)
    /// The payment failed, and access continues for a while.
    public static let billingGracePeriod = Self(rawValue: 4)
    /// The App Store refunded it, or withdrew it from Family Sharing.
    public static let revoked = Self(rawValue: 5)
}
