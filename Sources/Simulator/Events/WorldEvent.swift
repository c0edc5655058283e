/// The events that can happen to a customer. Raw values are the names in `POST /events`.
///
/// Each event is reported by one or more notifications:
/// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
package enum WorldEvent: String, Sendable, Hashable, CaseIterable {
    case initialBuy, resubscribe, resubscribeOther
    case renew, billingRecovery
    case billingFailure, billingFailureWithGrace, gracePeriodExpired
    case expireVoluntary, expireBillingRetry, expirePriceIncrease, expireProductNotForSale, expireOther
    case upgrade, downgrade, downgradeTakenBack
    case autoRenewOff, autoRenewOn
    case offerRedeemed, offerUpgrade, offerDowngrade
    case priceIncreasePending, priceIncreaseAccepted
    case consumptionRequest, refund, refundDeclined, refundReversed, revoke
    case extend
    case buyConsumable, buyNonConsumable, buyNonRenewing

    /// Relative frequency among the events that are possible for a customer.
    var weight: Int64 {
        switch self {
        case .renew: 30
        case .billingRecovery, .resubscribe, .buyConsumable: 10
        case .expireOther, .expireProductNotForSale, .refund, .revoke, .extend: 2
        case .consumptionRequest, .refundDeclined, .buyNonRenewing, .buyNonConsumable: 2
        default: 5
        }
    }
}

/// The subject of an event: a customer, or one subscription or transaction by its index in the customer's lists.
package enum EventSubject: Sendable, Hashable {
    case customer
    case subscription(Int)
    case transaction(Int)
}
