package import Base

/// Decides what happens by itself to a subscription of the accelerated sandbox, and when.
enum SandboxSchedule {
    /// A change that the App Store makes without the customer.
    enum Step: Sendable, Hashable {
        case renew
        case endGracePeriod
        /// `subtype` of `EXPIRED`, and the `expirationIntent`.
        case expire(subtype: String, intent: Int64)
    }

    /// Returns the next step of a subscription and its date, or `nil` if none follows.
    ///
    /// - Parameters:
    ///     - renewal: state of the subscription.
    ///     - expires: end of its newest period.
    ///     - renewals: number of renewals since the customer last bought the subscription.
    static func next(
        _ renewal: SimulatedRenewal, expires: Timestamp, renewals: Int
    ) -> (step: Step, date: Timestamp)? {
        switch renewal.status {
        case .active where renewal.priceIncreaseStatus == 0:
            return (.expire(subtype: "PRICE_INCREASE", intent: 3), expires)
        case .active where renewal.willRenew && renewals < SandboxClock.maximumRenewals:
            return (.renew, expires)
        case .active:
            return (.expire(subtype: "VOLUNTARY", intent: 1), expires)
        case .gracePeriod:
            let end = expires.advanced(byMilliseconds: SandboxClock.apple.gracePeriod)
            return (.endGracePeriod, renewal.gracePeriodExpiresDate ?? end)
        case .billingRetry:
            let end = expires.advanced(byMilliseconds: SandboxClock.apple.billingRetry)
            return (.expire(subtype: "BILLING_RETRY", intent: 2), end)
        case .expired, .revoked:
            return nil
        }
    }
}

extension SimulatedCustomer {
    /// Returns the earliest step that is due at that instant, with the index of its subscription.
    func dueStep(at instant: Timestamp) -> (index: Int, step: SandboxSchedule.Step)? {
        guard !isRemoved else { return nil }
        var earliest: (index: Int, step: SandboxSchedule.Step, date: Timestamp)?
        for (index, renewal) in renewals.enumerated() {
            let periods = transactions.filter { $0.originalTransactionId == renewal.originalTransactionId }
            guard let expires = periods.last?.expiresDate else { continue }
            let count = periods.reversed().prefix(while: \.isRenewal).count
            guard let (step, date) = SandboxSchedule.next(renewal, expires: expires, renewals: count),
                date <= instant, earliest.map({ date < $0.date }) ?? true
            else { continue }
            earliest = (index, step, date)
        }
        return earliest.map { ($0.index, $0.step) }
    }
}

extension EventSimulation {
    /// Makes a step of the accelerated sandbox.
    mutating func take(_ step: SandboxSchedule.Step, on index: Int) {
        switch step {
        case .renew: renew(index, by: .schedule)
        case .endGracePeriod: endGrace(index)
        case .expire(let subtype, let intent): expire(index, subtype, intent: intent)
        }
    }
}

extension EventScheduler {
    /// Makes all steps of the accelerated sandbox that are due. Returns the outcomes in order, for each customer the
    /// earliest first.
    package func makeDue(at instant: Timestamp) -> [EventOutcome] {
        var outcomes: [EventOutcome] = []
        for customer in sandboxCustomers {
            while let outcome = makeDueStep(of: customer, at: instant) { outcomes.append(outcome) }
        }
        return outcomes
    }

    private func makeDueStep(of customer: SimulatedCustomer, at instant: Timestamp) -> EventOutcome? {
        guard current(customer).dueStep(at: instant) != nil else { return nil }
        return make(of: customer) { simulation in
            // The customer may have changed since.
            guard let (index, step) = simulation.customer.dueStep(at: instant) else { return }
            simulation.take(step, on: index)
        }
    }
}
