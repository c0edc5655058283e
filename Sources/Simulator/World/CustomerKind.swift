import ReceiptBridgeBase

/// The kinds of customers. A world takes them in the order of ``order(_:)`` and starts over at its end.
package enum CustomerKind: String, Sendable, Hashable, CaseIterable {
    /// An App Receipt with a non-consumable and an active monthly subscription, which began with a free trial.
    case activeSubscription
    /// transactionReceipts of an active and of an expired subscription. verifyReceipt reports 21006 for the latter.
    case oldActiveSubscription, oldExpiredSubscription
    /// A finished and an unfinished consumable; a non-consumable of 2019 or 2020, in a receipt signed with SHA-1;
    /// transactionReceipts of version 2 of both, from before 2016.
    case consumables, nonConsumable, oldPurchase
    /// A refunded non-consumable, and an active subscription that will not renew.
    case refundedNonConsumable
    /// Billing retry without a grace period; a subscription of a family member; a non-renewing subscription.
    case billingRetry, familyShared, nonRenewing
    /// An App Receipt without any purchase; more than verifyReceipt's limit of 100 rows; a copy of the app from a
    /// volume purchase, with an expiration date.
    case noPurchases, longHistory, volumePurchase
    /// An upgrade from a month to a year within the month; a grace period; an expiry after a cancellation; a full
    /// refund.
    case upgraded, gracePeriod, expiredSubscription, revokedSubscription
    /// All types of paid offers and a pending price increase.
    case offers
    /// An App Receipt and a transactionReceipt of the same subscription.
    case bothStyles
    /// An introductory offer paid up front; free periods by the other types of offers; a non-consumable by an offer
    /// code.
    case prepaidIntroduction, freeOffers, codeForNonConsumable
    /// A yearly subscription that will renew, or has renewed, as a monthly one.
    case downgradePending, downgraded
    /// `expirationIntent` 2 to 5: a billing error, no consent to a price increase, a product not for sale, another
    /// reason.
    case expiredByBilling, expiredWithoutConsent, expiredProductGone, expiredUnknown
    /// `priceIncreaseStatus` 0 and 1: the customer has not answered, or has consented.
    case priceIncreaseAsked, priceIncreaseAgreed
    /// A refund of 40 % of a year; of a past period of an active subscription.
    case proratedRefund, refundedPeriod
    /// Family sharing that has ended.
    case familyRevoked
    /// Consumables that were refunded before and after the app finished them.
    case refundedConsumables
    /// Periods that a second device restored under new transaction ids; a transactionReceipt of one.
    case restored, oldRestored
    /// Three subscriptions in two groups, and a purchase of every other kind.
    case severalSubscriptions
    /// A gap of about seven months, and a resubscription with a win-back offer.
    case resubscribed
    /// A grace period that has ended; billing retry continues.
    case retryAfterGrace
    /// transactionReceipts of a subscription in its grace period, in billing retry, with a refund of the newest period.
    case oldGracePeriod, oldBillingRetry, oldRevoked
    /// A customer who ordered the app before its release, only in worlds with ``WorldOptions/preOrders``.
    case preOrdered
    /// A yearly subscription paid month by month: in the fifth month of its 12-month commitment; in the second month of
    /// a second commitment, which will not renew.
    case commitment, commitmentCancelled
    /// A year paid at its beginning, which will renew month by month.
    case billedUpfront
    /// A subscription to a SKU of the developer, bought with the Advanced Commerce API or migrated to it.
    case advancedCommerce, migrated
    case withoutAppTransaction

    /// The kinds and environments that ``WorldOptions/newestFields`` adds after all other customers.
    static let newest = both(newestKinds)

    package static let newestKinds: [CustomerKind] = [
        .commitment, .commitmentCancelled, .billedUpfront, .advancedCommerce, .migrated, .withoutAppTransaction,
    ]

    /// In the order of the customers. The first four have both environments and both receipt styles.
    static func order(_ options: WorldOptions) -> [(CustomerKind, AppStoreEnvironment)] {
        options.preOrders ? order + [(.preOrdered, .production), (.preOrdered, .sandbox)] : order
    }

    /// The order of the first 84 customers, which then repeats. It is part of the world's format: a change gives
    /// other customers for the same seed.
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
