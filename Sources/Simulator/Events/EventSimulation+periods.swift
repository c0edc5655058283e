import ReceiptBridgeBase

/// Events that begin or end periods of subscriptions.
extension EventSimulation {
    enum Beginning {
        /// A renewal. If it comes before the previous period ends, the new period is longer by the remaining time.
        case renewal
        /// A payment after a billing error. Within the grace period the new period continues the previous one; later
        /// there is a gap.
        case recovery
        /// A purchase by the customer. The period begins now.
        case purchase
        /// A renewal of the accelerated sandbox, which continues the previous period.
        case schedule
    }

    /// Adds a period to a subscription, which is active afterwards. Returns the index of the new transaction.
    mutating func begin(
        _ product: SimulatedProduct, of index: Int, by beginning: Beginning, offer: SimulatedOffer? = nil
    ) -> Int? {
        guard let newest = newest(of: index) else { return nil }
        let previous = customer.transactions[newest]
        let period = period(
            of: product, after: previous, wasInGrace: customer.renewals[index].status == .gracePeriod, beginning)
        var transaction = transaction(
            product, at: period.lowerBound, expires: period.upperBound, continuing: previous, offer: offer)
        transaction.appAccountToken = previous.appAccountToken
        transaction.isRenewal = beginning != .purchase
        transaction.copyDetails(of: previous, length: clock.period(days: product.days))
        customer.transactions.append(transaction)
        customer.renewals[index].begin(transaction)
        return customer.transactions.count - 1
    }

    private func period(
        of product: SimulatedProduct, after previous: SimulatedTransaction, wasInGrace: Bool, _ beginning: Beginning
    ) -> Range<Timestamp> {
        let length = clock.period(days: product.days)
        var start = purchaseDate
        var paidUntil = start
        if let expires = previous.expiresDate {
            switch beginning {
            case .renewal: paidUntil = max(start, expires)
            case .recovery where wasInGrace:
                let isFree = customer.transactions.last.map { $0.purchaseDate < expires } ?? true
                if expires < start, isFree { (start, paidUntil) = (expires, expires) }
            case .schedule:
                // Purchases of a customer follow each other, so another purchase may delay the beginning.
                let last = customer.transactions.last?.purchaseDate ?? expires
                (start, paidUntil) = (
                    max(expires, last.advanced(by: .milliseconds(last < expires ? 0 : 1000))), expires
                )
            default: break
            }
        }
        return start..<paidUntil.advanced(by: .milliseconds(length))
    }

    /// Returns the price with an offer: 0 for a free trial, half the price for any other offer.
    static func price(of product: SimulatedProduct, _ offer: SimulatedOffer?) -> Int64 {
        offer?.discountType == "FREE_TRIAL" ? 0 : offer == nil ? product.price : product.price / 2
    }

    /// Ends the current period now if it has not expired yet. Returns the index of its transaction.
    mutating func end(_ index: Int) -> Int? {
        guard let newest = newest(of: index) else { return nil }
        let row = customer.transactions[newest]
        let end = max(Timestamp(seconds: date.seconds), row.purchaseDate.advanced(by: .seconds(1)))
        if let expires = row.expiresDate, expires > end {
            customer.transactions[newest].expiresDate = end
            customer.transactions[newest].changeDate = date
            customer.renewals[index].renewalDate = end
        }
        return newest
    }

    mutating func renew(_ index: Int, by beginning: Beginning = .renewal) {
        let renewal = customer.renewals[index]
        guard let product = renewal.nextProduct,
            let new = begin(product, of: index, by: beginning, offer: renewal.offer)
        else { return }
        emit("DID_RENEW", of: new)
    }

    mutating func recover(_ index: Int) {
        guard let product = customer.renewals[index].nextProduct, let new = begin(product, of: index, by: .recovery)
        else { return }
        emit("DID_RENEW", "BILLING_RECOVERY", of: new)
    }

    /// Afterwards the subscription is in the grace period, if `withGrace`, or in billing retry.
    mutating func fail(_ index: Int, withGrace: Bool) {
        guard let newest = end(index) else { return }
        let graceEnd = (customer.transactions[newest].expiresDate ?? date).advanced(
            by: .milliseconds(clock.gracePeriod))
        update(index, "DID_FAIL_TO_RENEW", withGrace ? "GRACE_PERIOD" : nil) { renewal, _ in
            renewal.status = withGrace ? .gracePeriod : .billingRetry
            renewal.expirationIntent = 2
            renewal.isInBillingRetryPeriod = true
            renewal.gracePeriodExpiresDate = withGrace ? graceEnd : nil
        }
    }

    /// Ends the subscription permanently. The customer becomes eligible for win-back offers.
    mutating func expire(_ index: Int, _ subtype: String?, intent: Int64) {
        guard end(index) != nil else { return }
        update(index, "EXPIRED", subtype) { renewal, _ in
            renewal.expire(intent: intent)
            renewal.gracePeriodExpiresDate = nil
            renewal.offer = nil
            renewal.commitment?.willRenew = false
            renewal.eligibleWinBackOfferIds = SimulatedOffer.winBackIds
        }
    }
}

extension SimulatedRenewal {
    mutating func expire(intent: Int64) {
        status = .expired
        willRenew = false
        expirationIntent = intent
        isInBillingRetryPeriod = false
    }

    /// Clears everything that described the end of the previous period.
    fileprivate mutating func begin(_ transaction: SimulatedTransaction) {
        let old = self
        self = SimulatedRenewal(after: transaction, start: old.recentSubscriptionStartDate)
        extensionDates = old.extensionDates
        appAccountToken = old.appAccountToken
        appTransactionId = old.appTransactionId
        let wasCancelled = old.commitment.map { !$0.willRenew } ?? false
        commitment = transaction.commitment.map {
            RenewalCommitment(after: $0, of: transaction.product.productId, willRenew: !wasCancelled || $0.number == 1)
        }
        // The months of a canceled commitment end with the last one.
        if let commitment, let month = transaction.commitment, month.isLast { willRenew = commitment.willRenew }
    }
}

extension SimulatedTransaction {
    /// The SKU and the previous subscription, if the product is the same, and the place in a commitment. After a
    /// billing error the commitment ends later than before, as Apple documents it.
    fileprivate mutating func copyDetails(of previous: SimulatedTransaction, length: Int64) {
        if product.productId == previous.product.productId {
            advancedCommerce = previous.advancedCommerce
            previousOriginalTransactionId = previous.previousOriginalTransactionId
        }
        guard product.billingPlan == .monthly, let expiresDate else { return }
        let commitment = isRenewal ? previous.commitment : nil
        self.commitment = .following(commitment, monthEnding: expiresDate, length: length, price: product.price)
    }
}
