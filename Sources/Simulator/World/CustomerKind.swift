import StoreTypes

/// The stories that customers live through; a world goes through them in the order of ``order``, again and again.
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
    /// Only in worlds that ask for it.
    case preOrdered

    /// Who comes in which order: both environments and both styles within the first four.
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
