import ReceiptBridgeAppStore
import ReceiptBridgeBase

/// Calls the App Store for many items, a few at a time, until a limit or a failure whose cause is not a single item.
/// The results are passed on in the order of the items, so that a checkpoint can be the last item.
struct Run {
    let limits: RunLimits
    /// Maximum number of calls for one item.
    let maximumCalls: Int
    let isStopped: @Sendable () -> Bool

    /// Number of items that are worked on at the same time, and that are ahead of the first one without a result.
    private static let (workers, maximumAhead) = (4, 64)
    /// Time of one item. It waits for the rate limit, but not much longer than the time limit of the run.
    private static let (timeout, shortestTimeout) = (Duration.seconds(4 * 3_600), Duration.seconds(30))

    /// Works on all items.
    ///
    /// - Parameters:
    ///   - next: returns the next item; `nil` at the end.
    ///   - perform: an error other than ``UpstreamError`` ends the run.
    ///   - finish: receives the results.
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    func run<Item: Sendable, Output: Sendable>(
        next: () async throws -> Item?,
        perform: @escaping @Sendable (Item, CallOptions) async throws -> Output,
        finish: (Item, Result<Output, UpstreamError>) async throws -> Void
    ) async throws -> RunStop? {
        try await withThrowingTaskGroup(of: (Int64, Result<Output, UpstreamError>).self) { group in
            var (started, finished, failures, stop) = (Int64(0), Int64(0), 0, RunStop?.none)
            var items: [Int64: Item] = [:]
            var results: [Int64: Result<Output, UpstreamError>] = [:]
            while true {
                while stop == nil, items.count - results.count < Self.workers, items.count < Self.maximumAhead,
                    let item = try await next()
                {
                    stop = limits.stop(after: started, isStopped: isStopped())
                    guard stop == nil else { break }
                    let (position, options) = (started, self.options)
                    items[position] = item
                    started += 1
                    group.addTask {
                        do {
                            return (position, .success(try await perform(item, options)))
                        } catch let error as UpstreamError {
                            return (position, .failure(error))
                        }
                    }
                }
                guard let (position, result) = try await group.next() else { return stop }
                results[position] = result
                if case .failure(let error) = result {
                    failures += 1
                    stop = stop ?? Self.stop(after: error, failures: failures)
                } else {
                    failures = 0
                }
                while let result = results.removeValue(forKey: finished), let item = items.removeValue(forKey: finished)
                {
                    finished += 1
                    try await finish(item, result)
                }
            }
        }
    }

    /// Returns the reason to stop after a failure; `nil` to continue.
    private static func stop(after error: UpstreamError, failures: Int) -> RunStop? {
        if error.code == .budgetSpent || error.httpStatus == 429 { return .budget }
        let isGeneral =
            failures >= RunLimits.failuresInARow || error.code == .unauthorized || error.isUnreachable
        return isGeneral ? .failing("\(error)") : nil
    }

    /// The limits of the next item.
    private var options: CallOptions {
        let left = limits.timeLeft.map { max($0, Self.shortestTimeout) } ?? Self.timeout
        return CallOptions(priority: .batch, timeLimit: min(Self.timeout, left), maximumCalls: maximumCalls)
    }
}
