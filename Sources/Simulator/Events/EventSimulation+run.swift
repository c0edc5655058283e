/// Maps events to the methods that simulate them.
extension EventSimulation {
    /// Lets an event happen to a subject. If the event is not possible for that kind of subject, nothing changes and
    /// no notification is emitted.
    mutating func run(_ event: WorldEvent, on subject: EventSubject) {
        switch subject {
        case .customer: run(event)
        case .subscription(let index): run(event, subscription: index)
        case .transaction(let index): run(event, transaction: index)
        }
    }

    private mutating func run(_ event: WorldEvent) {
        switch event {
        case .initialBuy: subscribe()
        case .buyConsumable: buy(.coins)
        case .buyNonConsumable: buy(.unlock)
        case .buyNonRenewing: buy(.season)
        case .rescindConsent: rescindConsent()
        case .accountRemoved: removeAccount()
        default: break
        }
    }

    private mutating func run(_ event: WorldEvent, transaction index: Int) {
        switch event {
        case .consumptionRequest: requestConsumption(index)
        case .refund: refund(index)
        case .refundDeclined: declineRefund(index)
        case .refundReversed: reverseRefund(index)
        case .revoke: revoke(index)
        default: break
        }
    }

    private mutating func run(_ event: WorldEvent, subscription index: Int) {
        switch event {
        case .renew: renew(index)
        case .billingRecovery: recover(index)
        case .billingFailure: fail(index, withGrace: false)
        case .billingFailureWithGrace: fail(index, withGrace: true)
        case .gracePeriodExpired: endGrace(index)
        case .expireVoluntary: expire(index, "VOLUNTARY", intent: 1)
        case .expireBillingRetry: expire(index, "BILLING_RETRY", intent: 2)
        case .expirePriceIncrease: expire(index, "PRICE_INCREASE", intent: 3)
        case .expireProductNotForSale: expire(index, "PRODUCT_NOT_FOR_SALE", intent: 4)
        case .expireOther: expire(index, nil, intent: 5)
        case .resubscribe: resubscribe(index, to: nil)
        case .resubscribeOther: resubscribe(index, to: customer.renewals[index].otherProduct)
        case .upgrade: upgrade(index)
        case .downgrade: downgrade(index)
        case .downgradeTakenBack: reverseDowngrade(index)
        case .autoRenewOff: setAutoRenew(index, false)
        case .autoRenewOn: setAutoRenew(index, true)
        case .offerRedeemed: redeemOffer(index)
        case .offerUpgrade: upgrade(index, offer: someOffer())
        case .offerDowngrade: downgrade(index, offer: someOffer())
        case .priceIncreasePending: requestConsent(index)
        case .priceIncreaseAccepted: consent(index)
        case .migration: migrate(index)
        case .extend: extend(index, days: random.number(in: 1...30))
        default: break
        }
    }
}
