import ReceiptBridgeAppStore
import ReceiptBridgeBase

extension RunLimits {
    /// Time of one item. It waits for the rate limit, but not much longer than the time limit of the run.
    private static let (timeout, shortestTimeout) = (Duration.hours(4), Duration.seconds(30))

    /// Calls the App Store for many items.
    ///
    /// - Parameters:
    ///   - maximumCalls: maximum number of calls for one item.
    ///   - perform: an error other than ``UpstreamError`` ends the run.
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    func run<Item: Sendable, Output: Sendable>(
        maximumCalls: Int, isStopped: @escaping @Sendable () -> Bool, next: () async throws -> Item?,
        perform: @escaping @Sendable (Item, CallOptions) async throws -> Output,
        finish: (Item, Result<Output, UpstreamError>) async throws -> Void
    ) async throws -> RunStop? {
        var failures = 0
        return try await Run { stop(after: $0, isStopped: isStopped()) }.run(
            next: next,
            perform: { item -> Result<Output, UpstreamError> in
                let left = timeLeft.map { max($0, Self.shortestTimeout) } ?? Self.timeout
                let options = CallOptions(
                    priority: .batch, timeLimit: min(Self.timeout, left), maximumCalls: maximumCalls)
                do {
                    return .success(try await perform(item, options))
                } catch let error as UpstreamError {
                    return .failure(error)
                }
            },
            stop: { result in
                guard case .failure(let error) = result else {
                    failures = 0
                    return nil
                }
                failures += 1
                if error.code == .budgetSpent || error.httpStatus == 429 { return .budget }
                let isGeneral =
                    failures >= RunLimits.failuresInARow || error.code == .unauthorized || error.isUnreachable
                return isGeneral ? .failing("\(error)") : nil
            }, finish: finish)
    }
}
