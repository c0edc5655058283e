import Base

/// The purchases, renewals and receipts of each kind of customer.
extension CustomerBuilder {
    /// Builds the customer. Call it once, because the random generator advances with every draw.
    mutating func build() -> SimulatedCustomer {
        switch kind {
        case .activeSubscription: activeSubscription()
        case .oldActiveSubscription: oldSubscription(isActive: true)
        case .oldExpiredSubscription: oldSubscription(isActive: false)
        case .consumables: consumables()
        case .nonConsumable: oldNonConsumable()
        case .oldPurchase: oldPurchase()
        case .refundedNonConsumable: refunded()
        case .billingRetry: unpaid(.billingRetry)
        case .gracePeriod: unpaid(.gracePeriod)
        case .familyShared: familyShared()
        case .nonRenewing: oneTime(.season)
        case .noPurchases: appReceipt()
        case .longHistory: longHistory()
        case .volumePurchase: oneTime(.unlock, isVolumePurchase: true)
        case .upgraded: upgraded()
        case .expiredSubscription: expired()
        case .revokedSubscription: revoked()
        case .offers: offers()
        case .bothStyles: bothStyles()
        case .preOrdered: preOrdered()
        default: buildMore()
        }
        return customer
    }

    /// The end of a 30-day period that began 3 to 12 days ago.
    mutating func runningUntil() -> Timestamp { ago(days: -random.number(in: 18...27)) }

    /// A non-consumable, then a subscription that began with a free trial. The device has two App Receipts, one of
    /// now and one of the previous period.
    private mutating func activeSubscription() {
        buy(.unlock, at: ago(days: 300))
        let indices = subscribe(
            .monthly, periods: random.number(in: 4...7), until: runningUntil(), firstOffer: .freeTrial)
        renewal(of: indices[indices.count - 1], .active, willRenew: true)
        appReceipt()
        appReceipt(upTo: indices[indices.count - 2])
    }

    /// Two transactionReceipts, of the newest and of the first period, as old apps store them.
    private mutating func oldSubscription(isActive: Bool) {
        let end = isActive ? runningUntil() : ago(days: random.number(in: 30...400))
        let indices = subscribe(.monthly, periods: random.number(in: 3...6), until: end)
        renewal(of: indices[indices.count - 1], isActive ? .active : .expired, willRenew: isActive) {
            guard !isActive else { return }
            $0.expirationIntent = 1
            $0.isInBillingRetryPeriod = false
        }
        transactionReceipt(of: indices[indices.count - 1])
        transactionReceipt(of: indices[0])
    }

    /// Two consumables: the app has finished one, which is listed only in the transaction history, and not the other.
    private mutating func consumables() {
        buy(.coins, at: ago(days: 50))
        let open = buy(.coins, at: ago(days: 4))
        customer.transactions[open].isFinished = false
        customer.transactions[open].quantity = 2
        appReceipt()
    }

    /// One purchase of a product that does not renew.
    private mutating func oneTime(_ product: SimulatedProduct, isVolumePurchase: Bool = false) {
        buy(product, at: ago(days: random.number(in: 10...200)))
        appReceipt(isVolumePurchase: isVolumePurchase)
    }

    /// A non-consumable of 2019 or 2020. Receipts of that time are signed with SHA-1 and have no ownership type,
    /// because family sharing came later.
    private mutating func oldNonConsumable() {
        let date = Timestamp(seconds: 1_546_300_800 + random.number(below: 63_000_000))
        buy(.unlock, at: min(date, ago(days: 10)))
        appReceipt()
    }

    /// A consumable and a non-consumable bought between May 2014 and April 2015. Their transactionReceipts have
    /// version 2, dates with real milliseconds, and the iTunes Store's signature.
    private mutating func oldPurchase() {
        let date = Timestamp(milliseconds: 1_398_902_400_000 + random.number(below: 31_536_000_000))
        let first = min(date, ago(days: 10))
        let coins = buy(.coins, at: first)
        let unlock = buy(.unlock, at: first.advanced(byMilliseconds: 3_600_000))
        transactionReceipt(of: coins)
        transactionReceipt(of: unlock)
    }

    /// A refunded non-consumable next to a subscription that is active but will not renew.
    private mutating func refunded() {
        let unlock = buy(.unlock, at: ago(days: 90))
        customer.transactions[unlock].revocation = .init(
            date: ago(days: 70).advanced(byMilliseconds: 586), reason: 1, type: "REFUND_FULL")
        let indices = subscribe(.monthly, periods: 3, until: runningUntil())
        renewal(of: indices[indices.count - 1], .active, willRenew: false)
        appReceipt()
    }

    /// A subscription whose last renewal failed, three days ago.
    private mutating func unpaid(_ status: SimulatedRenewal.Status) {
        let indices = subscribe(.monthly, periods: random.number(in: 2...5), until: ago(days: 3))
        let graceEnd = ago(days: -13)
        renewal(of: indices[indices.count - 1], status, willRenew: true) {
            $0.expirationIntent = 2
            $0.isInBillingRetryPeriod = true
            if status == .gracePeriod { $0.gracePeriodExpiresDate = graceEnd }
        }
        appReceipt()
    }

    /// A subscription shared by a family member, whose rows have no web order line item id.
    private mutating func familyShared() {
        let indices = subscribe(.yearly, periods: 2, until: ago(days: -120))
        share(indices)
        renewal(of: indices[indices.count - 1], .active, willRenew: true)
        appReceipt()
    }

    /// A history that is longer than verifyReceipt's limit of 100 rows.
    private mutating func longHistory() {
        let indices = subscribe(.monthly, periods: random.number(in: 110...125), until: runningUntil())
        renewal(of: indices[indices.count - 1], .active, willRenew: true)
        appReceipt()
    }

    /// An upgrade from a month to a year within the month. The month's row is marked `isUpgraded`, not revoked.
    private mutating func upgraded() {
        let months = subscribe(.monthly, periods: 3, until: ago(days: -10))
        let last = months[months.count - 1]
        let start = ago(days: 6)
        customer.transactions[last].isUpgraded = true
        customer.transactions[last].upgradedDate = start
        customer.transactions[last].reportsUpgradeAsCancellation = options.upgradesAreCancelled
        let year = buy(
            .yearly, at: start, renewalOf: customer.transactions[months[0]],
            expires: start.advanced(byMilliseconds: clock.period(days: 365)))
        customer.transactions[year].isRenewal = false
        renewal(of: year, .active, willRenew: true)
        appReceipt()
        appReceipt(upTo: last)
    }

    /// A subscription that the customer canceled and that expired 45 days ago.
    private mutating func expired() {
        let indices = subscribe(.monthly, periods: random.number(in: 2...6), until: ago(days: 45))
        renewal(of: indices[indices.count - 1], .expired, willRenew: false) {
            $0.expirationIntent = 1
            $0.isInBillingRetryPeriod = false
        }
        appReceipt()
    }

    /// A yearly subscription that was refunded.
    private mutating func revoked() {
        let indices = subscribe(.yearly, periods: 1, until: ago(days: -200))
        customer.transactions[indices[0]].revocation = .init(
            date: ago(days: 30).advanced(byMilliseconds: 127), reason: 0, type: "REFUND_FULL")
        renewal(of: indices[0], .revoked, willRenew: false)
        appReceipt()
    }

    /// An introductory, a promotional, an offer code and a win-back offer, one after the other; a price increase
    /// waits for the customer's consent.
    private mutating func offers() {
        let indices = subscribe(.monthly, periods: 5, until: runningUntil(), firstOffer: .introductory)
        for (index, offer) in zip(indices[1...], [SimulatedOffer.promotional, .offerCode, .winBack]) {
            customer.transactions[index].offer = offer
        }
        renewal(of: indices[indices.count - 1], .active, willRenew: true) {
            $0.priceIncreaseStatus = 0
            $0.offer = .promotional
        }
        appReceipt()
    }

    /// A customer who ordered the app before its release.
    private mutating func preOrdered() {
        customer.preorderDate = ago(days: 420)
        buy(.unlock, at: ago(days: 300))
        appReceipt()
    }

    /// One subscription, known by an App Receipt and by a transactionReceipt.
    private mutating func bothStyles() {
        let indices = subscribe(.monthly, periods: 4, until: runningUntil())
        renewal(of: indices[indices.count - 1], .active, willRenew: true)
        appReceipt()
        transactionReceipt(of: indices[1])
    }
}
