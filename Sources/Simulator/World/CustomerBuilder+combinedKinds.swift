import Base

/// Customers who restore purchases, resubscribe, hold several subscriptions, or store transactionReceipts of any of
/// these.
extension CustomerBuilder {
    /// A second device restored two old periods under new transaction ids. One of them was refunded later.
    mutating func restored() {
        let indices = subscribe(.monthly, periods: 5, until: runningUntil())
        for index in indices[1...2] { customer.transactions[index].restoredId = newTransactionId() }
        customer.transactions[indices[1]].revocation = .init(
            date: ago(days: 20).advanced(byMilliseconds: 593), reason: 0, type: "REFUND_FULL")
        renewal(of: indices[4], .active, willRenew: true)
        appReceipt()
    }

    /// A transactionReceipt of a restored period: its `transaction-id` is the id of the restore, not of the purchase.
    mutating func oldRestored() {
        let indices = subscribe(.monthly, periods: 3, until: runningUntil())
        customer.transactions[indices[2]].restoredId = newTransactionId()
        renewal(of: indices[2], .active, willRenew: true)
        transactionReceipt(of: indices[2])
        transactionReceipt(of: indices[0])
    }

    /// Three subscriptions in two groups, one of them shared by a family member, and one purchase of every other kind
    /// of product.
    mutating func severalSubscriptions() {
        buy(.unlock, at: ago(days: 210))
        buy(.season, at: ago(days: 100))
        let own = subscribe(.monthly, periods: 3, until: runningUntil(), firstOffer: .freeTrial)
        let news = subscribe(.newsMonthly, periods: 4, until: ago(days: 40))
        let shared = subscribe(.yearly, periods: 1, until: ago(days: -150))
        share(shared)
        let coins = buy(.coins, at: ago(days: 2))
        customer.transactions[coins].isFinished = false
        renewal(of: own[2], .active, willRenew: true)
        renewal(of: shared[0], .active, willRenew: true)
        renewal(of: news[3], .expired, willRenew: false) {
            $0.expirationIntent = 1
            $0.isInBillingRetryPeriod = false
        }
        sortByPurchase()
        appReceipt()
    }

    /// About seven months without a subscription, then a resubscription with a win-back offer. The original
    /// transaction id stays the same.
    mutating func resubscribed() {
        let first = subscribe(.monthly, periods: 3, until: ago(days: 260), firstOffer: .freeTrial)
        let second = subscribe(
            .monthly, periods: 2, until: runningUntil(), firstOffer: .winBack, continuing: first[0])
        let start = customer.transactions[second[0]].purchaseDate
        renewal(of: second[1], .active, willRenew: true) { $0.recentSubscriptionStartDate = start }
        appReceipt()
        appReceipt(upTo: first[2])
    }

    /// The grace period of 16 days has ended without a payment; the App Store still retries billing.
    mutating func retryAfterGrace() {
        let indices = subscribe(.monthly, periods: 3, until: ago(days: 25))
        let graceEnd = customer.transactions[indices[2]].expiresDate?.advanced(byMilliseconds: clock.gracePeriod)
        renewal(of: indices[2], .billingRetry, willRenew: true) {
            $0.expirationIntent = 2
            $0.isInBillingRetryPeriod = true
            $0.gracePeriodExpiresDate = graceEnd
        }
        appReceipt()
    }

    /// A subscription that could not be renewed, known by two transactionReceipts.
    mutating func oldUnpaid(_ status: SimulatedRenewal.Status) {
        let indices = subscribe(.monthly, periods: 2, until: ago(days: 4))
        let graceEnd = ago(days: -12)
        renewal(of: indices[1], status, willRenew: true) {
            $0.expirationIntent = 2
            $0.isInBillingRetryPeriod = true
            if status == .gracePeriod { $0.gracePeriodExpiresDate = graceEnd }
        }
        transactionReceipt(of: indices[1])
        transactionReceipt(of: indices[0])
    }

    /// A subscription whose newest period was refunded, known by two transactionReceipts.
    mutating func oldRevoked() {
        let indices = subscribe(.monthly, periods: 3, until: runningUntil())
        customer.transactions[indices[2]].revocation = .init(
            date: ago(days: 1).advanced(byMilliseconds: 239), reason: 1, type: "REFUND_FULL")
        renewal(of: indices[2], .revoked, willRenew: false)
        transactionReceipt(of: indices[2])
        transactionReceipt(of: indices[1])
    }

    /// Sorts the transactions by purchase date, for histories whose purchases were not added in that order.
    ///
    /// Indices that ``buy(_:at:renewalOf:expires:offer:)`` and ``subscribe(_:periods:until:firstOffer:continuing:)``
    /// returned before are invalid afterwards.
    mutating func sortByPurchase() {
        customer.transactions.sort {
            ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId)
        }
    }
}
