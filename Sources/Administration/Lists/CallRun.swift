import AppStoreClients
import Operations

/// The limits of a run over many customers or ids.
package struct RunLimits: Sendable {
    /// Number of customers or ids; `nil` for no limit.
    package var items: Int?
    /// Time after which no new calls are started; `nil` for no limit.
    package var time: Duration?
    /// Number of items that are worked on concurrently.
    static let workers = 4

    package init(items: Int? = nil, time: Duration? = nil) {
        self.items = items
        self.time = time
    }
}

/// The reason why a run over many customers or ids stopped early. The same command resumes it.
package enum RunStop: Sendable, Hashable {
    case limit, time, signal, budget
    /// Too many calls in a row failed, so the cause is not a single id.
    case failing(String)

    package var sentence: String {
        switch self {
        case .limit: "--limit"
        case .time: "--max-hours"
        case .signal: "a signal"
        case .budget: "the hourly budget of calls is used up"
        case .failing(let reason): "calls to the App Store fail: \(reason)"
        }
    }
}

/// Calls the App Store for many items, a few at a time, until a limit or a failure whose cause is not a single item.
struct CallRun {
    let limits: RunLimits
    /// Maximum number of calls for one item.
    let maximumCalls: Int
    let isStopped: @Sendable () -> Bool
    private let start = ContinuousClock.now

    /// Number of failures in a row after which the run stops.
    private static let maximumFailures = 12

    /// Works on all items.
    ///
    /// - Parameters:
    ///   - next: returns the next item; `nil` at the end, or if another item must finish first.
    ///   - call: returns what to do for an item; `nil` to skip it. An error other than ``UpstreamError`` ends the run.
    ///   - finish: receives the results, in any order.
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    func run<Item: Sendable, Output: Sendable>(
        next: () async throws -> Item?, call: (Item) throws -> (@Sendable (CallOptions) async throws -> Output)?,
        finish: (Item, Result<Output, UpstreamError>) async throws -> Void
    ) async throws -> RunStop? {
        try await withThrowingTaskGroup(of: (Item, Result<Output, UpstreamError>).self) { group in
            var (started, inFlight, failures, stop) = (0, 0, 0, RunStop?.none)
            while true {
                while stop == nil, inFlight < RunLimits.workers, let item = try await next() {
                    stop = reason(started: started)
                    guard stop == nil else { break }
                    started += 1
                    guard let call = try call(item) else { continue }
                    let options = options
                    inFlight += 1
                    group.addTask {
                        do { return (item, .success(try await call(options))) } catch let error as UpstreamError {
                            return (item, .failure(error))
                        }
                    }
                }
                guard let (item, result) = try await group.next() else { return stop }
                inFlight -= 1
                if case .failure(let error) = result {
                    failures += 1
                    stop = stop ?? Self.stop(after: error, failures: failures)
                } else {
                    failures = 0
                }
                try await finish(item, result)
            }
        }
    }

    /// Returns the reason to stop after a failure; `nil` to continue.
    private static func stop(after error: UpstreamError, failures: Int) -> RunStop? {
        if error.code == .budgetSpent || error.httpStatus == 429 { return .budget }
        let isGeneral = failures >= maximumFailures || error.code == .unauthorized || error.isUnreachable
        return isGeneral ? .failing("\(error)") : nil
    }

    /// Returns the reason to stop before the next item; `nil` to continue.
    private func reason(started: Int) -> RunStop? {
        if isStopped() { return .signal }
        if let items = limits.items, started >= items { return .limit }
        if let time = limits.time, start.duration(to: .now) >= time { return .time }
        return nil
    }

    /// The limits of the next item. It may take up to four hours, because it waits for the rate limit, but not much
    /// longer than the time limit of the run (30 s at least).
    private var options: CallOptions {
        let timeout = Duration.seconds(4 * 3_600)
        let left = limits.time.map { max($0 - start.duration(to: .now), .seconds(30)) }
        return CallOptions(priority: .batch, timeLimit: min(timeout, left ?? timeout), maximumCalls: maximumCalls)
    }
}
