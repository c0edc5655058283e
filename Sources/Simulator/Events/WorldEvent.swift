/// The events that can happen to a customer. Raw values are the names in `POST /events`.
///
/// Each event is reported by one or more notifications:
/// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
package enum WorldEvent: String, Sendable, Hashable, CaseIterable {
    /// The customer subscribes for the first time in a group, or again after an expiry, to the same or another
    /// product.
    case initialBuy, resubscribe, resubscribeOther
    /// A period begins by renewal, or by a payment after a billing error.
    case renew, billingRecovery
    /// A renewal fails, without or with a grace period; a grace period ends without a payment.
    case billingFailure, billingFailureWithGrace, gracePeriodExpired
    /// A subscription expires, with the `expirationIntent` 1 to 5 in this order.
    case expireVoluntary, expireBillingRetry, expirePriceIncrease, expireProductNotForSale, expireOther
    /// The customer changes to the yearly product at once, to the monthly product at the next renewal, or reverses
    /// the latter.
    case upgrade, downgrade, downgradeTakenBack
    /// The customer turns off or on the renewal.
    case autoRenewOff, autoRenewOn
    /// The customer redeems an offer for the next period, for an upgrade, or for a downgrade.
    case offerRedeemed, offerUpgrade, offerDowngrade
    /// A price increase needs consent; the customer consents.
    case priceIncreasePending, priceIncreaseAccepted
    /// The customer asks for a refund, and Apple asks the developer about the consumption, refunds, declines, or
    /// reverses a refund; the owner of a family-shared purchase ends sharing.
    case consumptionRequest, refund, refundDeclined, refundReversed, revoke
    /// The renewal date is extended by 1 to 30 days.
    case extend
    /// The customer buys a product that does not renew.
    case buyConsumable, buyNonConsumable, buyNonRenewing
    /// The developer migrates the subscription to the Advanced Commerce API. Only on request, never at random.
    case migration
    /// A parent or guardian withdraws the consent to the app. Only on request.
    case rescindConsent
    /// The account is deleted, or the tester is no longer one. Only on request.
    case accountRemoved

    /// Relative frequency among the events that are possible for a customer; 0 for events that only happen on request.
    var weight: Int64 {
        switch self {
        case .renew: 30
        case .billingRecovery, .resubscribe, .buyConsumable: 10
        case .expireOther, .expireProductNotForSale, .refund, .revoke, .extend: 2
        case .consumptionRequest, .refundDeclined, .buyNonRenewing, .buyNonConsumable: 2
        case .migration, .rescindConsent, .accountRemoved: 0
        default: 5
        }
    }
}

/// The subject of an event: a customer, or one subscription or transaction by its index in the customer's lists.
package enum EventSubject: Sendable, Hashable {
    /// The customer as a whole, for purchases.
    case customer
    /// Index of a renewal in the customer's ``SimulatedCustomer/renewals``.
    case subscription(Int)
    /// Index of a transaction in the customer's ``SimulatedCustomer/transactions``.
    case transaction(Int)
}
