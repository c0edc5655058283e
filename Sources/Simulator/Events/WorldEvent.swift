/// What can happen to a customer; raw values are the names that `POST /events` takes.
///
/// Each is told by one or more notifications:
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

    /// How often it comes up among those that are possible for a customer.
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

/// What of a customer an event is about; places are those in the customer's lists.
package enum EventSubject: Sendable, Hashable {
    case customer
    case subscription(Int)
    case transaction(Int)
}
