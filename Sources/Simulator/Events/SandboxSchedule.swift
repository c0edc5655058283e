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

/// The speed of subscriptions in the simulated sandbox. Raw values are those of `--sandbox-clock`.
///
/// Apple accelerates subscriptions in the sandbox:
/// https://developer.apple.com/documentation/storekit/testing-an-auto-renewable-subscription
package enum SandboxClock: String, Sendable, Hashable, CaseIterable {
    /// The same periods as in production. Nothing renews or expires without an event.
    case real
    /// Apple's default rate, at which a month takes five minutes. Subscriptions renew and expire by themselves.
    case apple

    /// Renewals after a purchase, in the accelerated sandbox. Afterwards the subscription expires.
    static let maximumRenewals = 12

    /// Minutes of Apple's default rate, by the length of the period in days:
    /// https://developer.apple.com/documentation/storekittest/sktestsession/timerate-swift.enum/monthlyrenewaleveryfiveminutes
    private static let minutes: [Int64: Int64] = [7: 3, 30: 5, 60: 10, 90: 15, 180: 30, 365: 60]

    static let day = Duration.days(1).inMilliseconds

    /// Accelerated milliseconds of a day, for lengths that Apple's table does not have: a 30th of a month of five
    /// minutes.
    private static let acceleratedDay: Int64 = 10_000

    /// Returns the length of a subscription period of so many days, in milliseconds.
    package func period(days: Int64) -> Int64 {
        switch self {
        case .real: days * Self.day
        case .apple: Self.minutes[days].map { $0 * 60_000 } ?? days * Self.acceleratedDay
        }
    }

    /// Returns a distance in time of so many days and seconds, in milliseconds and whole seconds. It may be negative.
    func distance(days: Int64, seconds: Int64 = 0) -> Int64 {
        switch self {
        case .real: days * Self.day + seconds * 1000
        case .apple: days * Self.acceleratedDay + seconds * Self.acceleratedDay / Self.day * 1000
        }
    }

    /// In milliseconds. In the accelerated sandbox an extension has whole minutes, so one of less than 6 days changes
    /// nothing. Developers observed this: https://developer.apple.com/forums/thread/723388
    package func extensionLength(days: Int64) -> Int64 {
        switch self {
        case .real: days * Self.day
        case .apple: days * Self.acceleratedDay / 60_000 * 60_000
        }
    }

    /// Length of the billing grace period in milliseconds: 16 days, or Apple's 2 minutes and 30 seconds.
    package var gracePeriod: Int64 { self == .real ? 16 * Self.day : 150_000 }

    /// Length of billing retry in milliseconds: 60 days, or Apple's 10 minutes.
    package var billingRetry: Int64 { self == .real ? 60 * Self.day : 600_000 }
}
