package import AppStoreClients
import Operations
import Storage
import Synchronization

/// The result of one item of a list.
package struct ListResult: Sendable, Hashable {
    /// The line of the output, a JSON object.
    package let line: [UInt8]
    /// `false` if the App Store or a limit refused the item, or does not know it.
    package let isSuccess: Bool

    package init(line: [UInt8], isSuccess: Bool) {
        self.line = line
        self.isSuccess = isSuccess
    }
}

/// The progress of a run over a list.
package struct ListCounts: Sendable, Hashable {
    /// Number of items in this run.
    package var items = 0
    /// Items whose line was written.
    package var done = 0
    /// Written items that were not successful, including those of earlier runs.
    package var refused = 0
    /// Items that failed for now.
    package var failed = 0

    package init() {}
}

/// Shared progress counts of a run, and a flag to stop it.
package final class ListMonitor: Sendable {
    private let counts = Mutex(ListCounts())
    private let stopped = Atomic(false)

    package init() {}

    package var now: ListCounts { counts.withLock { $0 } }

    package func change(_ body: (inout ListCounts) -> Void) { counts.withLock { body(&$0) } }

    /// Starts no new calls from now on.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    package var isStopped: Bool { stopped.load(ordering: .relaxed) }
}

/// Calls the App Store for each item of a list, a few at a time, and writes one line for each in the order of the list.
///
/// An item that fails for now has no line yet; the next run tries it again. The checkpoint is saved after the output is
/// on disk. So a file contains each item exactly once, even if a run is killed; the operation of the last few items is
/// then repeated, and must be one that may be.
package struct ListRun<Item: Sendable>: Sendable {
    /// The limits of a run.
    package struct Limits: Sendable {
        /// Number of items; `nil` for no limit.
        package var items: Int?
        /// Time after which no new calls are started; `nil` for no limit.
        package var time: Duration?
        /// Number of items that are worked on concurrently.
        package var workers = 4

        package init(items: Int? = nil, time: Duration? = nil) {
            self.items = items
            self.time = time
        }
    }

    /// Number of failures in a row after which the run stops.
    private static var maximumFailures: Int { 12 }

    private let items: [Item]
    private let limits: Limits
    private let monitor: ListMonitor
    private let perform: @Sendable (Item, CallOptions) async throws -> ListResult

    /// - Parameter perform: throws ``ServerAPIError`` if the item failed for now; any other error ends the run.
    package init(
        _ items: [Item], limits: Limits, monitor: ListMonitor,
        _ perform: @escaping @Sendable (Item, CallOptions) async throws -> ListResult
    ) {
        self.items = items
        self.limits = limits
        self.monitor = monitor
        self.perform = perform
    }

    private typealias Answer = Result<ListResult, ServerAPIError>

    /// Runs or resumes the list.
    ///
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    /// - Throws: `StorageError`, `SinkError`, and what the operation throws.
    package func run(to output: inout LineOutput, _ checkpoint: inout ListCheckpoint) async throws -> RunStop? {
        let start = ContinuousClock.now
        let queue = checkpoint.remaining(of: items.count)
        let (first, refused) = (min(queue.count, limits.items ?? .max), checkpoint.refused)
        monitor.change { ($0.items, $0.refused) = (first, refused) }
        return try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            var (next, inFlight, failures, stop) = (0, 0, 0, RunStop?.none)
            // Answers that wait for those of earlier items.
            var answers: [Int: Answer] = [:]
            var written = 0
            while true {
                while stop == nil, inFlight < limits.workers, next < queue.count, next - written < 16 * limits.workers {
                    stop = reason(start, started: next)
                    guard stop == nil else { break }
                    let (position, item, options) = (next, items[queue[next]], options(start))
                    next += 1
                    inFlight += 1
                    group.addTask { (position, try await answer(item, options)) }
                }
                guard let (position, answer) = try await group.next() else { return stop }
                inFlight -= 1
                answers[position] = answer
                if case .failure(let error) = answer {
                    failures += 1
                    stop = stop ?? Self.stop(after: error, failures: failures)
                } else {
                    failures = 0
                }
                while let answer = answers.removeValue(forKey: written) {
                    switch answer {
                    case .success(let result):
                        try output.append(result.line)
                        checkpoint.complete(queue[written], isSuccess: result.isSuccess)
                        monitor.change {
                            $0.done += 1
                            $0.refused += result.isSuccess ? 0 : 1
                        }
                    case .failure:
                        checkpoint.postpone(queue[written])
                        monitor.change { $0.failed += 1 }
                    }
                    written += 1
                }
                try checkpoint.save(size: try output.makeDurable())
            }
        }
    }

    private func answer(_ item: Item, _ options: CallOptions) async throws -> Answer {
        do {
            return .success(try await perform(item, options))
        } catch let error as ServerAPIError {
            return .failure(error)
        }
    }

    /// Returns the reason to stop after a failure; `nil` to continue.
    private static func stop(after error: ServerAPIError, failures: Int) -> RunStop? {
        if error.code == .budgetSpent || error.httpStatus == 429 { return .budget }
        let isGeneral = failures >= maximumFailures || error.code == .unauthorized || error.isUnreachable
        return isGeneral ? .failing("\(error)") : nil
    }

    /// Returns the reason to stop before the next item; `nil` to continue.
    private func reason(_ start: ContinuousClock.Instant, started: Int) -> RunStop? {
        if monitor.isStopped { return .signal }
        if let items = limits.items, started >= items { return .limit }
        if let time = limits.time, start.duration(to: .now) >= time { return .time }
        return nil
    }

    /// Returns the limits of the next item. It may take up to four hours, because it waits for the rate limit, but not
    /// much longer than the time limit of the run (30 s at least).
    private func options(_ start: ContinuousClock.Instant) -> CallOptions {
        let timeout = Duration.seconds(4 * 3_600)
        let left = limits.time.map { max($0 - start.duration(to: .now), .seconds(30)) }
        return CallOptions(priority: .batch, timeLimit: min(timeout, left ?? timeout), maximumCalls: 100)
    }
}
