/// The reason why a run over many items stopped early. The same command resumes it.
package enum RunStop: Sendable, Hashable {
    case limit, time, signal, budget
    /// The App Store rejects the key or cannot be reached, or a store cannot be written.
    case rejectedKey, unreachable, storeFailed
    /// A plan of the run was wanted, not the run.
    case planned
    /// Too many calls in a row failed, so the cause is not a single item.
    case failing(String)
    /// The other side rejects what every call needs, or cannot be reached.
    case refused(String)

    /// Text to print after "stopped:".
    package var sentence: String {
        switch self {
        case .limit: "--limit is reached"
        case .time: "--max-hours is reached"
        case .signal: "interrupted by a signal"
        case .budget: "the hourly budget of calls is used up"
        case .rejectedKey: "the App Store rejected the key"
        case .unreachable: "the App Store Server API cannot be reached"
        case .storeFailed: "the store cannot be written (--no-store leaves it out)"
        case .planned: "planned only"
        case .failing(let reason): "calls to the App Store fail: \(reason)"
        case .refused(let reason): reason
        }
    }
}

/// The limits of a run over many items.
package struct RunLimits: Sendable {
    /// `nil` for no limit, as for the time.
    package var items: Int64?
    /// Time after which nothing new is started; `nil` for no limit.
    package var time: Duration?
    private let start = ContinuousClock.now

    /// Number of failures in a row after which their cause is not a single item: each of the workers has then failed
    /// several times.
    package static let failuresInARow = 12

    package init(items: Int64? = nil, time: Duration? = nil) {
        self.items = items
        self.time = time
    }

    /// Time since the limits were set.
    package var timePassed: Duration { start.duration(to: .now) }
    /// The rest of ``time``; `nil` for no limit.
    package var timeLeft: Duration? { time.map { $0 - timePassed } }

    /// Returns the reason to stop before the next item, after so many items of this run.
    package func stop(after started: Int64, isStopped: Bool) -> RunStop? {
        if isStopped { return .signal }
        if let items, started >= items { return .limit }
        if let timeLeft, timeLeft <= .zero { return .time }
        return nil
    }
}
