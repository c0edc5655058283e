import Base

/// Events about refunds and the end of family sharing.
extension EventSimulation {
    /// Values of `consumptionRequestReason`.
    private static let reasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    mutating func requestConsumption(_ index: Int) {
        let reason = Self.reasons[Int(random.number(below: Int64(Self.reasons.count)))]
        emit("CONSUMPTION_REQUEST", of: index, reason: reason)
    }

    /// Refunds a past period, the current period, or a product that does not renew.
    ///
    /// If the current period is refunded, the subscription is revoked and Apple turns off its renewal.
    mutating func refund(_ index: Int) {
        let isPartial = customer.transactions[index].isAutoRenewable && random.number(below: 4) == 0
        customer.transactions[index].revocation = .init(
            date: date, reason: random.number(below: 2), type: isPartial ? "REFUND_PRORATED" : "REFUND_FULL",
            percentage: isPartial ? random.number(in: 1...99) * 1000 : nil)
        customer.transactions[index].changeDate = date
        let current = subscription(endingWith: index)
        if let current { customer.renewals[current].revoke() }
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

    /// Ends family sharing for a transaction.
    mutating func revoke(_ index: Int) {
        customer.transactions[index].revocation = .init(date: date, reason: 0, type: "FAMILY_REVOKE")
        customer.transactions[index].changeDate = date
        if let current = subscription(endingWith: index) {
            customer.renewals[current].revoke()
            customer.renewals[current].willRenew = false
        }
        emit("REVOKE", of: index)
    }

    /// Returns the index of the subscription whose newest transaction this is, or `nil` if the transaction is an
    /// older period or not a subscription.
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
