import Base

/// The kinds of customers. A world takes them in the order of ``order(_:)`` and starts over at its end.
package enum CustomerKind: String, Sendable, Hashable, CaseIterable {
    /// An App Receipt with a non-consumable and a monthly subscription, which began with a free trial and is active.
    case activeSubscription
    /// transactionReceipts of an active subscription.
    case oldActiveSubscription
    /// transactionReceipts of a subscription that the customer canceled and that has expired. verifyReceipt reports
    /// 21006.
    case oldExpiredSubscription
    /// A finished and an unfinished consumable.
    case consumables
    /// A non-consumable of 2019 or 2020, in a receipt signed with SHA-1.
    case nonConsumable
    /// transactionReceipts of version 2 of a consumable and a non-consumable, from before 2016.
    case oldPurchase
    /// A refunded non-consumable, and an active subscription that will not renew.
    case refundedNonConsumable
    /// A subscription that could not be renewed and is in billing retry, without a grace period.
    case billingRetry
    /// A subscription of a family member.
    case familyShared
    /// A non-renewing subscription.
    case nonRenewing
    /// An App Receipt without any purchase.
    case noPurchases
    /// More than 100 periods, which is verifyReceipt's limit of rows.
    case longHistory
    /// A copy of the app from a volume purchase, with an expiration date.
    case volumePurchase
    /// A monthly subscription that was upgraded to a yearly one within the month.
    case upgraded
    /// A subscription that could not be renewed and is in its grace period.
    case gracePeriod
    /// A subscription that the customer canceled and that has expired, in an App Receipt.
    case expiredSubscription
    /// A yearly subscription that was refunded completely.
    case revokedSubscription
    /// A subscription with all types of paid offers and a pending price increase.
    case offers
    /// An App Receipt and a transactionReceipt of the same subscription.
    case bothStyles
    /// A subscription with a prepaid introductory offer (`PAY_UP_FRONT`).
    case prepaidIntroduction
    /// A subscription with free periods by promotional offer, offer code and win-back offer.
    case freeOffers
    /// A non-consumable bought with an offer code.
    case codeForNonConsumable
    /// A yearly subscription that will renew as a monthly one.
    case downgradePending
    /// A yearly subscription that has renewed as a monthly one.
    case downgraded
    /// `expirationIntent` 2: a billing error.
    case expiredByBilling
    /// `expirationIntent` 3: no consent to a price increase.
    case expiredWithoutConsent
    /// `expirationIntent` 4: the product was not for sale.
    case expiredProductGone
    /// `expirationIntent` 5: another reason.
    case expiredUnknown
    /// `priceIncreaseStatus` 0: the customer has not answered.
    case priceIncreaseAsked
    /// `priceIncreaseStatus` 1: the customer has consented.
    case priceIncreaseAgreed
    /// A yearly subscription of which 40 % were refunded.
    case proratedRefund
    /// A refunded past period of an active subscription.
    case refundedPeriod
    /// A family-shared subscription whose sharing has ended.
    case familyRevoked
    /// Consumables that were refunded before and after the app finished them.
    case refundedConsumables
    /// Periods that a second device restored under new transaction ids.
    case restored
    /// A transactionReceipt of a restored period.
    case oldRestored
    /// Three subscriptions in two groups, and a purchase of every other kind.
    case severalSubscriptions
    /// A gap of about seven months, and a resubscription with a win-back offer.
    case resubscribed
    /// A grace period that has ended; billing retry continues.
    case retryAfterGrace
    /// transactionReceipts of a subscription in its grace period.
    case oldGracePeriod
    /// transactionReceipts of a subscription in billing retry.
    case oldBillingRetry
    /// transactionReceipts of a subscription whose newest period was refunded.
    case oldRevoked
    /// A customer who ordered the app before its release, only in worlds with ``WorldOptions/preOrders``.
    case preOrdered
    /// A yearly subscription paid month by month, in the fifth month of its 12-month commitment.
    case commitment
    /// The second month of a second commitment, which will not renew.
    case commitmentCancelled
    /// A year paid at its beginning, which will renew month by month.
    case billedUpfront
    /// A subscription to a SKU of the developer, bought with the Advanced Commerce API.
    case advancedCommerce
    /// A subscription that the developer migrated to the Advanced Commerce API.
    case migrated
    /// A customer without an app transaction.
    case withoutAppTransaction

    /// The kinds and environments that ``WorldOptions/newestFields`` adds after all other customers.
    static let newest = both(newestKinds)

    /// The kinds of ``newest``.
    package static let newestKinds: [CustomerKind] = [
        .commitment, .commitmentCancelled, .billedUpfront, .advancedCommerce, .migrated, .withoutAppTransaction,
    ]

    /// Returns the kinds and environments in the order of the customers. The first four have both environments and
    /// both receipt styles.
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

    /// Returns each kind twice, in production and in the sandbox.
    private static func both(_ kinds: [CustomerKind]) -> [(CustomerKind, AppStoreEnvironment)] {
        kinds.flatMap { [($0, .production), ($0, .sandbox)] }
    }
}
