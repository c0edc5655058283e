import ReceiptBridgeBase
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
