import StoreTypes

/// Events about refunds and the end of family sharing.
extension EventSimulation {
    /// Values of `consumptionRequestReason`.
    private static let reasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]

    mutating func requestConsumption(_ place: Int) {
        let reason = Self.reasons[Int(random.number(below: Int64(Self.reasons.count)))]
        tell("CONSUMPTION_REQUEST", of: place, reason: reason)
    }

    mutating func declineRefund(_ place: Int) {
        tell("REFUND_DECLINED", of: place)
    }

    /// Refunds a past period, the current period, or a product that does not renew.
    ///
    /// If the current period is refunded, the subscription is revoked and Apple turns off its renewal.
    mutating func refund(_ place: Int) {
        let isPartial = customer.transactions[place].isAutoRenewable && random.number(below: 4) == 0
        customer.transactions[place].revocation = .init(
            date: date, reason: random.number(below: 2), type: isPartial ? "REFUND_PRORATED" : "REFUND_FULL",
            percentage: isPartial ? random.number(in: 1...99) * 1000 : nil)
        customer.transactions[place].changeDate = date
        let current = subscription(endingWith: place)
        if let current { customer.renewals[current].revoke() }
        tell("REFUND", of: place)
        guard let current, customer.renewals[current].willRenew else { return }
        customer.renewals[current].willRenew = false
        tell("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: place)
    }

    /// Reverses a refund after a dispute. The expiry stays as it was.
    mutating func reverseRefund(_ place: Int) {
        customer.transactions[place].revocation = nil
        customer.transactions[place].changeDate = date
        if let current = subscription(endingWith: place), customer.renewals[current].status == .revoked {
            let isRunning = customer.transactions[place].expiresDate.map { $0 > date } ?? false
            customer.renewals[current].status = isRunning ? .active : .expired
            customer.renewals[current].expirationIntent = isRunning ? nil : 5
            customer.renewals[current].isInBillingRetryPeriod = isRunning ? nil : false
        }
        tell("REFUND_REVERSED", of: place)
    }

    /// Ends family sharing for a transaction.
    mutating func revoke(_ place: Int) {
        customer.transactions[place].revocation = .init(date: date, reason: 0, type: "FAMILY_REVOKE")
        customer.transactions[place].changeDate = date
        if let current = subscription(endingWith: place) {
            customer.renewals[current].revoke()
            customer.renewals[current].willRenew = false
        }
        tell("REVOKE", of: place)
    }

    /// Returns the index of the subscription whose newest transaction this is, or `nil` if the transaction is an
    /// older period or not a subscription.
    private func subscription(endingWith place: Int) -> Int? {
        customer.renewals.indices.first { newest(of: $0) == place }
    }
}

extension SimulatedRenewal {
    fileprivate mutating func revoke() {
        status = .revoked
        expirationIntent = nil
        isInBillingRetryPeriod = nil
        gracePeriodExpiresDate = nil
    }
}
