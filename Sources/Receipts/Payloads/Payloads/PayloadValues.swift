/// The `type` of a transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/type
package struct ProductType: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")
    package static let nonConsumable = Self(rawValue: "Non-Consumable")
    /// A product that can be bought any number of times.
    package static let consumable = Self(rawValue: "Consumable")
    /// A subscription that ends without renewal. Apple does not know its end date.
    package static let nonRenewing = Self(rawValue: "Non-Renewing Subscription")

    /// Returns whether a transaction is an auto-renewable subscription. The only place that decides it.
    ///
    /// Only these subscriptions expire. So the expiry date decides if the type is absent or is none of the four, for
    /// example because Apple has introduced another one.
    package static func isAutoRenewable(_ type: String?, expires: Bool) -> Bool {
        switch type.map(Self.init(rawValue:)) {
        case .autoRenewable?: true
        case .nonConsumable?, .consumable?, .nonRenewing?: false
        default: expires
        }
    }
}

/// The `inAppOwnershipType` of a transaction.
///
/// https://developer.apple.com/documentation/appstoreserverapi/inappownershiptype
package struct OwnershipType: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Bought by the customer.
    package static let purchased = Self(rawValue: "PURCHASED")
    /// Bought by a member of the customer's family.
    package static let familyShared = Self(rawValue: "FAMILY_SHARED")
}

/// The `offerType` of a transaction or renewal.
///
/// https://developer.apple.com/documentation/appstoreserverapi/offertype
package struct OfferType: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// For new subscribers.
    package static let introductory = Self(rawValue: 1)
    /// For current and former subscribers, chosen by the app.
    package static let promotional = Self(rawValue: 2)
    package static let offerCode = Self(rawValue: 3)
    /// For former subscribers, chosen by the App Store.
    package static let winBack = Self(rawValue: 4)
}

/// The `offerDiscountType` of a transaction or renewal.
///
/// https://developer.apple.com/documentation/appstoreserverapi/offerdiscounttype
package struct OfferDiscountType: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let freeTrial = Self(rawValue: "FREE_TRIAL")
    /// Paid period by period.
    static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    /// Paid once in advance for several periods.
    static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    package static let oneTime = Self(rawValue: "ONE_TIME")
}

/// The `notificationType` of a notification. Apple may send values not listed here.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
package struct NotificationType: RawRepresentable, Sendable, Hashable {
    /// The value as Apple writes it, for example `DID_RENEW`.
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let test = Self(rawValue: "TEST")
    package static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    package static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    package static let migration = Self(rawValue: "MIGRATION")
    /// The changelog's spelling of ``migration``.
    package static let migrate = Self(rawValue: "MIGRATE")

    /// True if the type is in the documentation of 2026, so that its content is known.
    package var isKnown: Bool { Self.known.contains(rawValue) }

    private static let known = Set(documented.map(\.type))

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
}
