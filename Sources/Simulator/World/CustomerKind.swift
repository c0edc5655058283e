import StoreTypes

/// The kinds of customers. A world takes them in the order of ``order(_:)`` and starts over at its end.
package enum CustomerKind: String, Sendable, Hashable, CaseIterable {
    case activeSubscription
    case oldActiveSubscription
    case oldExpiredSubscription
    case consumables
    case nonConsumable
    case oldPurchase
    case refundedNonConsumable
    case billingRetry
    case familyShared
    case nonRenewing
    case noPurchases
    case longHistory
    case volumePurchase
    case upgraded
    case gracePeriod
    case expiredSubscription
    case revokedSubscription
    case offers
    case bothStyles
    case prepaidIntroduction
    case freeOffers
    case codeForNonConsumable
    case downgradePending
    case downgraded
    case expiredByBilling
    case expiredWithoutConsent
    case expiredProductGone
    case expiredUnknown
    case priceIncreaseAsked
    case priceIncreaseAgreed
    case proratedRefund
    case refundedPeriod
    case familyRevoked
    case refundedConsumables
    case restored
    case oldRestored
    case severalSubscriptions
    case resubscribed
    case retryAfterGrace
    case oldGracePeriod
    case oldBillingRetry
    case oldRevoked
    /// Only in worlds with ``WorldOptions/preOrders``.
    case preOrdered

    /// Returns the kinds and environments in the order of the customers. The first four have both environments and
    /// both receipt styles.
    static func order(_ options: WorldOptions) -> [(CustomerKind, AppStoreEnvironment)] {
        options.preOrders ? order + [(.preOrdered, .production), (.preOrdered, .sandbox)] : order
    }

    private static let order: [(CustomerKind, AppStoreEnvironment)] =
        [
            (.activeSubscription, .production), (.activeSubscription, .sandbox),
            (.oldActiveSubscription, .production), (.oldExpiredSubscription, .sandbox),
            (.consumables, .production), (.consumables, .sandbox),
            (.nonConsumable, .production), (.nonConsumable, .sandbox),
            (.oldExpiredSubscription, .production), (.oldActiveSubscription, .sandbox),
            (.oldPurchase, .production), (.oldPurchase, .sandbox),
            (.refundedNonConsumable, .production), (.billingRetry, .sandbox),
            (.familyShared, .production), (.nonRenewing, .sandbox),
            (.noPurchases, .production), (.longHistory, .production),
            (.volumePurchase, .production), (.upgraded, .sandbox),
        ]
        + both([.gracePeriod, .expiredSubscription, .revokedSubscription, .offers, .bothStyles])
        + [
            (.billingRetry, .production), (.refundedNonConsumable, .sandbox), (.nonRenewing, .production),
            (.noPurchases, .sandbox), (.upgraded, .production), (.longHistory, .sandbox),
        ]
        + both([
            .prepaidIntroduction, .freeOffers, .codeForNonConsumable, .downgradePending, .downgraded,
            .expiredByBilling, .expiredWithoutConsent, .expiredProductGone, .expiredUnknown, .priceIncreaseAsked,
            .priceIncreaseAgreed, .proratedRefund, .refundedPeriod, .familyRevoked, .refundedConsumables, .restored,
            .oldRestored, .severalSubscriptions, .resubscribed, .retryAfterGrace, .oldGracePeriod, .oldBillingRetry,
            .oldRevoked,
        ])
        + [(.familyShared, .sandbox), (.volumePurchase, .sandbox)]

    private static func both(_ kinds: [CustomerKind]) -> [(CustomerKind, AppStoreEnvironment)] {
        kinds.flatMap { [($0, .production), ($0, .sandbox)] }
    }
}
