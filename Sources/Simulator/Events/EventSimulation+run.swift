/// Maps events to the methods that simulate them.
extension EventSimulation {
    /// Lets an event happen to a subject. If the event is not possible for that kind of subject, nothing changes and
    /// no notification is emitted.
    mutating func run(_ event: WorldEvent, on subject: EventSubject) {
        switch subject {
        case .customer: run(event)
        case .subscription(let place): run(event, subscription: place)
        case .transaction(let place): run(event, transaction: place)
        }
    }

    private mutating func run(_ event: WorldEvent) {
        switch event {
        case .initialBuy: subscribe()
        case .buyConsumable: buy(.coins)
        case .buyNonConsumable: buy(.unlock)
        case .buyNonRenewing: buy(.season)
        default: break
        }
    }

    private mutating func run(_ event: WorldEvent, transaction place: Int) {
        switch event {
        case .consumptionRequest: requestConsumption(place)
        case .refund: refund(place)
        case .refundDeclined: declineRefund(place)
        case .refundReversed: reverseRefund(place)
        case .revoke: revoke(place)
        default: break
        }
    }

    private mutating func run(_ event: WorldEvent, subscription place: Int) {
        switch event {
        case .renew: renew(place)
        case .billingRecovery: recover(place)
        case .billingFailure: fail(place, withGrace: false)
        case .billingFailureWithGrace: fail(place, withGrace: true)
        case .gracePeriodExpired: endGrace(place)
        case .expireVoluntary: expire(place, "VOLUNTARY", intent: 1)
        case .expireBillingRetry: expire(place, "BILLING_RETRY", intent: 2)
        case .expirePriceIncrease: expire(place, "PRICE_INCREASE", intent: 3)
        case .expireProductNotForSale: expire(place, "PRODUCT_NOT_FOR_SALE", intent: 4)
        case .expireOther: expire(place, nil, intent: 5)
        case .resubscribe: resubscribe(place, to: nil)
        case .resubscribeOther: resubscribe(place, to: customer.renewals[place].otherProduct)
        case .upgrade: upgrade(place)
        case .downgrade: downgrade(place)
        case .downgradeTakenBack: takeBackDowngrade(place)
        case .autoRenewOff: setAutoRenew(place, false)
        case .autoRenewOn: setAutoRenew(place, true)
        case .offerRedeemed: redeemOffer(place)
        case .offerUpgrade: upgrade(place, offer: someOffer())
        case .offerDowngrade: downgrade(place, offer: someOffer())
        case .priceIncreasePending: askForConsent(place)
        case .priceIncreaseAccepted: consent(place)
        case .extend: extend(place, days: random.number(in: 1...30))
        default: break
        }
    }
}
