import ReceiptBridgeBase

/// Events in which customers buy.
extension EventSimulation {
    /// Buys a product that does not renew. Half of the consumables are finished at once.
    mutating func buy(_ product: SimulatedProduct) {
        let index = append(product, expires: nil, offer: nil)
        customer.transactions[index].isFinished = product.kind != .consumable || random.number(below: 2) == 0
        emit("ONE_TIME_CHARGE", of: index)
    }

    /// Buys the first subscription in a group, sometimes with an introductory offer.
    mutating func subscribe() {
        let groups = customer.freeGroups
        guard !groups.isEmpty else { return }
        let group = groups[Int(random.number(below: Int64(groups.count)))]
        let products = SimulatedApp.first.products.filter { $0.group == group }
        let product = products[Int(random.number(below: Int64(products.count)))]
        let offer = [nil, SimulatedOffer.freeTrial, .introductory][Int(random.number(below: 3))]
        let length = clock.period(days: offer == .freeTrial ? 7 : product.days)
        let start = purchaseDate
        let index = append(product, expires: start.advanced(by: .milliseconds(length)), offer: offer)
        customer.renewals.append(SimulatedRenewal(after: customer.transactions[index], start: start))
        emit("SUBSCRIBED", "INITIAL_BUY", of: index)
    }

    /// Resubscribes to the same product or to another one of the group, sometimes with a win-back offer.
    mutating func resubscribe(_ index: Int, to product: SimulatedProduct?) {
        let renewal = customer.renewals[index]
        let winsBack = !renewal.eligibleWinBackOfferIds.isEmpty && random.number(below: 3) == 0
        let same = SimulatedProduct.named(renewal.productId, renewal.billingPlan)
        guard let product = product ?? same,
            let new = begin(product, of: index, by: .purchase, offer: winsBack ? .winBack : nil)
        else { return }
        customer.renewals[index].recentSubscriptionStartDate = customer.transactions[new].purchaseDate
        emit("SUBSCRIBED", "RESUBSCRIBE", of: new)
    }

    private mutating func append(_ product: SimulatedProduct, expires: Timestamp?, offer: SimulatedOffer?) -> Int {
        var transaction = transaction(product, at: purchaseDate, expires: expires, offer: offer)
        transaction.appAccountToken = customer.transactions.first { !$0.isFamilyShared }?.appAccountToken
        customer.transactions.append(transaction)
        return customer.transactions.count - 1
    }
}

extension EventSimulation {
    private static let reasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    mutating func requestConsumption(_ index: Int) {
        let reason = Self.reasons[Int(random.number(below: Int64(Self.reasons.count)))]
        emit("CONSUMPTION_REQUEST", of: index, reason: reason)
    }

    /// A past period, the current period, or a product that does not renew. If the current period is refunded, the
    /// subscription is revoked and Apple turns off its renewal.
    mutating func refund(_ index: Int) {
        let isPartial = customer.transactions[index].isAutoRenewable && random.number(below: 4) == 0
        let revocation = SimulatedTransaction.Revocation(
            date: date, reason: random.number(below: 2), type: isPartial ? "REFUND_PRORATED" : "REFUND_FULL",
            percentage: isPartial ? random.number(in: 1...99) * 1000 : nil)
        let current = revoke(index, revocation)
        emit("REFUND", of: index)
        guard let current, customer.renewals[current].willRenew else { return }
        customer.renewals[current].willRenew = false
        emit("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: index)
    }

    /// Reverses a refund after a dispute. The expiry stays as it was.
    mutating func reverseRefund(_ index: Int) {
        customer.transactions[index].revocation = nil
        customer.transactions[index].changeDate = date
        if let current = subscription(endingWith: index), customer.renewals[current].status == .revoked {
            let isRunning = customer.transactions[index].expiresDate.map { $0 > date } ?? false
            customer.renewals[current].status = isRunning ? .active : .expired
            customer.renewals[current].expirationIntent = isRunning ? nil : 5
            customer.renewals[current].isInBillingRetryPeriod = isRunning ? nil : false
        }
        emit("REFUND_REVERSED", of: index)
    }

    mutating func revoke(_ index: Int) {
        let current = revoke(index, .init(date: date, reason: 0, type: "FAMILY_REVOKE"))
        if let current { customer.renewals[current].willRenew = false }
        emit("REVOKE", of: index)
    }

    /// Revokes a transaction and, if it is the newest one of a subscription, the subscription. Returns the index of the
    /// subscription.
    private mutating func revoke(_ index: Int, _ revocation: SimulatedTransaction.Revocation) -> Int? {
        customer.transactions[index].revocation = revocation
        customer.transactions[index].changeDate = date
        let current = subscription(endingWith: index)
        if let current { customer.renewals[current].revoke() }
        return current
    }

    /// `nil` if the transaction is an older period or not a subscription.
    private func subscription(endingWith index: Int) -> Int? {
        customer.renewals.indices.first { newest(of: $0) == index }
    }
}

extension SimulatedRenewal {
    fileprivate mutating func revoke() {
        status = .revoked
        expirationIntent = nil
        isInBillingRetryPeriod = nil
        gracePeriodExpiresDate = nil
        // A refund of the current month ends the commitment.
        commitment?.willRenew = false
    }
}
