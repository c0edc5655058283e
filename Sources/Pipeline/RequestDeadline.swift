/// How long one request may take in all, and how much of it a source that asks others may use.
///
/// A client of verifyReceipt gives up after 3 to 10 seconds: an answer that comes later is none. Everything counts:
/// repeated questions, pauses, waiting for budgets and for a look-up that somebody else began.
package struct RequestDeadline: Sendable {
    /// Where the settings say nothing else.
    package static let usual = Duration.seconds(9)
    /// Kept back for the sources that ask nobody, and for writing the answer.
    private static let longestReserve = Duration.milliseconds(500)

    private let end: ContinuousClock.Instant
    private let reserve: Duration

    /// - Parameters:
    ///   - limit: from now to the answer.
    ///   - now: when the request came.
    package init(_ limit: Duration, from now: ContinuousClock.Instant = .now) {
        reserve = min(limit / 10, Self.longestReserve)
        end = now + limit - reserve
    }

    /// What the next source may use.
    ///
    /// - Parameter others: sources behind it that ask, too; each has the same share of what is left then.
    package func share(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        max(now.duration(to: end), .zero) / (others + 1)
    }

    /// What reading the store may take. It has no network, but a disk; two such sources fit into what is kept back.
    ///
    /// - Parameter others: sources behind it that ask.
    package func reading(before others: Int, at now: ContinuousClock.Instant = .now) -> Duration {
        max(share(before: others, at: now), reserve / 3)
    }
}
