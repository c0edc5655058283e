import Base

/// The rarer states of subscriptions: unusual offers, plan changes, failed renewals, refunds.
extension CustomerBuilder {
    /// Builds the kinds that ``build()`` does not handle itself.
    mutating func buildMore() {
        switch kind {
        case .prepaidIntroduction: running(firstOffer: .prepaid)
        case .freeOffers: freeOffers()
        case .codeForNonConsumable: codeForNonConsumable()
        case .downgradePending: downgradePending()
        case .downgraded: downgraded()
        case .expiredByBilling: expired(intent: 2)
        case .expiredWithoutConsent: expired(intent: 3)
        case .expiredProductGone: expired(intent: 4)
        case .expiredUnknown: expired(intent: 5)
        case .priceIncreaseAsked: running { $0.priceIncreaseStatus = 0 }
        case .priceIncreaseAgreed: running { $0.priceIncreaseStatus = 1 }
        case .proratedRefund: proratedRefund()
        case .refundedPeriod: refundedPeriod()
        case .familyRevoked: familyRevoked()
        case .refundedConsumables: refundedConsumables()
        case .restored: restored()
        case .oldRestored: oldRestored()
        case .severalSubscriptions: severalSubscriptions()
        case .resubscribed: resubscribed()
        case .retryAfterGrace: retryAfterGrace()
        case .oldGracePeriod: oldUnpaid(.gracePeriod)
        case .oldBillingRetry: oldUnpaid(.billingRetry)
        case .oldRevoked: oldRevoked()
        default: buildNewest()
        }
    }

    /// A monthly subscription that is active now, with any first offer and any change of its renewal.
    private mutating func running(
        firstOffer: SimulatedOffer? = nil, changing change: (inout SimulatedRenewal) -> Void = { _ in }
    ) {
        let indices = subscribe(
            .monthly, periods: random.number(in: 1...5), until: runningUntil(), firstOffer: firstOffer)
        renewal(of: indices[indices.count - 1], .active, willRenew: true, changing: change)
        appReceipt()
    }

    /// One free month by each kind of offer except the introductory one; an offer code applies to the next renewal.
    private mutating func freeOffers() {
        let indices = subscribe(.monthly, periods: 4, until: runningUntil())
        for (index, offer) in zip(indices, [SimulatedOffer.freePromotional, .freeCode, .freeWinBack]) {
            customer.transactions[index].offer = offer
            customer.transactions[index].price = 0
        }
        renewal(of: indices[3], .active, willRenew: true) { $0.offer = .freeCode }
        appReceipt()
    }

    /// One offer code for a non-consumable, which has no period (`ONE_TIME`), and one for the first period of a
    /// subscription.
    private mutating func codeForNonConsumable() {
        buy(.unlock, at: ago(days: random.number(in: 5...60)), offer: .oneTimeCode)
        let indices = subscribe(.monthly, periods: 2, until: runningUntil(), firstOffer: .offerCode)
        renewal(of: indices[1], .active, willRenew: true)
        sortByPurchase()
        appReceipt()
    }

    /// A yearly subscription that will renew as a monthly one.
    private mutating func downgradePending() {
        let indices = subscribe(.yearly, periods: 2, until: ago(days: -90))
        renewal(of: indices[1], .active, willRenew: true) {
            $0.autoRenewProductId = SimulatedProduct.monthly.productId
            $0.renewalPrice = SimulatedProduct.monthly.price
        }
        appReceipt()
    }

    /// A year, then two months of the cheaper product. The first month is a renewal, because a downgrade takes effect
    /// at the end of the period.
    private mutating func downgraded() {
        let end = runningUntil()
        let month = clock.period(days: SimulatedProduct.monthly.days)
        let years = subscribe(.yearly, periods: 1, until: end.advanced(byMilliseconds: -2 * month))
        let months = subscribe(.monthly, periods: 2, until: end, continuing: years[0])
        customer.transactions[months[0]].isRenewal = true
        renewal(of: months[1], .active, willRenew: true)
        appReceipt()
        appReceipt(upTo: years[0])
    }

    /// A subscription that expired 75 days ago. `intent` is its `expirationIntent`, for example 2 for a billing
    /// error.
    private mutating func expired(intent: Int64) {
        let indices = subscribe(.monthly, periods: random.number(in: 2...6), until: ago(days: 75))
        renewal(of: indices[indices.count - 1], .expired, willRenew: false) {
            $0.expirationIntent = intent
            $0.isInBillingRetryPeriod = false
            if intent == 3 { $0.priceIncreaseStatus = 0 }
            $0.eligibleWinBackOfferIds = ["come_back", "come_back_free"]
        }
        appReceipt()
    }

    /// A refund of two fifths of the year's price: `revocationPercentage` 40000 means 40 %.
    private mutating func proratedRefund() {
        let indices = subscribe(.yearly, periods: 1, until: ago(days: -120))
        customer.transactions[indices[0]].revocation = .init(
            date: ago(days: 12).advanced(byMilliseconds: 341), reason: 0, type: "REFUND_PRORATED", percentage: 40_000)
        renewal(of: indices[0], .revoked, willRenew: false)
        appReceipt()
    }

    /// A past month was refunded; the current one was not.
    private mutating func refundedPeriod() {
        let indices = subscribe(.monthly, periods: 4, until: runningUntil())
        customer.transactions[indices[1]].revocation = .init(
            date: ago(days: 20).advanced(byMilliseconds: 826), reason: 1, type: "REFUND_FULL")
        renewal(of: indices[3], .active, willRenew: true)
        appReceipt()
    }

    /// A yearly subscription whose owner ended family sharing.
    private mutating func familyRevoked() {
        let indices = subscribe(.yearly, periods: 1, until: ago(days: -200))
        share(indices)
        customer.transactions[indices[0]].revocation = .init(
            date: ago(days: 9).advanced(byMilliseconds: 467), reason: 0, type: "FAMILY_REVOKE")
        renewal(of: indices[0], .revoked, willRenew: false)
        appReceipt()
    }

    /// Marks the transactions as shared by a family member. Such rows have neither a web order line item id nor an
    /// `appAccountToken`.
    mutating func share(_ indices: [Int]) {
        for index in indices {
            customer.transactions[index].isFamilyShared = true
            customer.transactions[index].webOrderLineItemId = nil
            customer.transactions[index].appAccountToken = nil
        }
    }

    /// Three consumables: one finished and then refunded, one refunded before the app finished it, one neither
    /// finished nor refunded.
    private mutating func refundedConsumables() {
        let finished = buy(.coins, at: ago(days: 60))
        let open = buy(.coins, at: ago(days: 40))
        let last = buy(.coins, at: ago(days: 3))
        for (index, days) in [(finished, Int64(55)), (open, 30)] {
            customer.transactions[index].revocation = .init(date: ago(days: days), reason: 1, type: "REFUND_FULL")
        }
        customer.transactions[open].isFinished = false
        customer.transactions[last].isFinished = false
        appReceipt()
    }
}
