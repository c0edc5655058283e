import ReceiptBridgeBase

extension SimulatedRenewal {
    /// The next event of a subscription in the accelerated sandbox, which happens by itself.
    ///
    /// - Parameters:
    ///   - expires: end of the newest period.
    ///   - renewals: number of renewals since the customer last bought the subscription.
    fileprivate func next(expires: Timestamp, renewals: Int) -> (event: WorldEvent, date: Timestamp)? {
        let clock = SandboxClock.apple
        switch status {
        case .active where priceIncreaseStatus == 0: return (.expirePriceIncrease, expires)
        case .active: return (willRenew && renewals < SandboxClock.maximumRenewals ? .renew : .expireVoluntary, expires)
        case .gracePeriod:
            let end = gracePeriodExpiresDate ?? expires.advanced(by: .milliseconds(clock.gracePeriod))
            return (.gracePeriodExpired, end)
        case .billingRetry: return (.expireBillingRetry, expires.advanced(by: .milliseconds(clock.billingRetry)))
        case .expired, .revoked: return nil
        }
    }
}

extension SimulatedCustomer {
    /// Returns the earliest event that is due at that instant, with the index of its subscription.
    fileprivate func dueEvent(at instant: Timestamp) -> (index: Int, event: WorldEvent)? {
        guard !isRemoved else { return nil }
        var earliest: (index: Int, event: WorldEvent, date: Timestamp)?
        for (index, renewal) in renewals.enumerated() {
            let periods = transactions.filter { $0.originalTransactionId == renewal.originalTransactionId }
            guard let expires = periods.last?.expiresDate else { continue }
            let count = periods.reversed().prefix(while: \.isRenewal).count
            guard let (event, date) = renewal.next(expires: expires, renewals: count),
                date <= instant, earliest.map({ date < $0.date }) ?? true
            else { continue }
            earliest = (index, event, date)
        }
        return earliest.map { ($0.index, $0.event) }
    }
}

extension EventSimulation {
    fileprivate mutating func simulateDueEvent(at instant: Timestamp) {
        guard let (index, event) = customer.dueEvent(at: instant) else { return }
        if event == .renew {
            renew(index, by: .schedule)
        } else {
            event.happen(to: .subscription(index), in: &self)
        }
    }
}

extension EventScheduler {
    /// Returns the outcomes in order, for each customer the earliest first.
    func makeDue(at instant: Timestamp) -> [EventOutcome] {
        let world = customerRegistry.world
        guard world.options.sandboxClock == .apple else { return [] }
        var outcomes: [EventOutcome] = []
        for customer in world.customers where customer.environment == .sandbox {
            // Most customers have no event that is due, and asking needs no lock of the scheduler.
            while customerRegistry.current(customer).dueEvent(at: instant) != nil,
                let outcome = make(of: customer, { $0.simulateDueEvent(at: instant) })
            {
                outcomes.append(outcome)
            }
        }
        return outcomes
    }
}
