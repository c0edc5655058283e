import Synchronization

/// Works on many items, a few at a time, until a limit, a signal or a failure whose cause is not a single item.
package struct Run: Sendable {
    /// The reason to stop before the next item, after so many; `nil` to continue.
    private let reason: @Sendable (_ started: Int64) -> RunStop?
    /// Number of items that are worked on at the same time, and that are ahead of the first one without a result.
    private let (workers, ahead): (Int, Int)
    /// Whether items that are worked on are canceled when the run stops, because they can take an hour.
    private let cancels: Bool
    /// Whether results are passed on in the order of the items, so that a checkpoint can be the last item. Otherwise a
    /// result is passed on at once.
    private let isOrdered: Bool

    /// Time between two checks for a reason to stop.
    private static let tick = Duration.milliseconds(500)

    package init(
        workers: Int = 4, ahead: Int = 64, cancels: Bool = false, isOrdered: Bool = true,
        _ reason: @escaping @Sendable (_ started: Int64) -> RunStop?
    ) {
        (self.workers, self.ahead) = (max(workers, 1), max(workers, ahead))
        (self.cancels, self.isOrdered, self.reason) = (cancels, isOrdered, reason)
    }

    private enum Event<Output: Sendable>: Sendable {
        case result(Int64, Output)
        case tick
    }

    /// Works on all items.
    ///
    /// - Parameters:
    ///   - next: returns the next item; `nil` if there is none. It is called again after a result, so it can decide how
    ///     many items of a kind are worked on.
    ///   - perform: an error ends the run, and cancels the items that are worked on.
    ///   - stop: returns the reason to stop after a result.
    ///   - finish: receives the results.
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    package func run<Item: Sendable, Output: Sendable, Failure: Error>(
        next: () async throws(Failure) -> Item?,
        perform: @escaping @Sendable (Item) async throws(Failure) -> Output,
        stop isStopping: (Output) -> RunStop? = { _ in nil }, tick: () async throws(Failure) -> Void = {},
        finish: (Item, Output) async throws(Failure) -> Void
    ) async throws(Failure) -> RunStop? {
        try await withTaskGroup(of: Event<Result<Output, Failure>>.self) { group in
            defer { group.cancelAll() }
            return await Result { () async throws(Failure) -> RunStop? in
                var (started, finished, stop) = (Int64(0), Int64(0), RunStop?.none)
                var items: [Int64: Item] = [:]
                var results: [Int64: Output] = [:]
                group.addTask { await Self.nextTick() }
                while true {
                    while stop == nil, items.count - results.count < workers, items.count < ahead,
                        let item = try await next()
                    {
                        stop = reason(started)
                        guard stop == nil else { break }
                        let position = started
                        items[position] = item
                        started += 1
                        group.addTask {
                            .result(position, await Result { () async throws(Failure) in try await perform(item) })
                        }
                    }
                    if stop != nil, cancels { group.cancelAll() }
                    guard !items.isEmpty, let event = await group.next() else { return stop }
                    switch event {
                    case .tick:
                        if cancels { stop = stop ?? reason(started) }
                        try await tick()
                        // Sleeping ends at once in a canceled task.
                        _ = group.addTaskUnlessCancelled { await Self.nextTick() }
                    case .result(let position, let result):
                        let output = try result.get()
                        results[position] = output
                        stop = stop ?? isStopping(output)
                        if !isOrdered { finished = position }
                    }
                    while let output = results.removeValue(forKey: finished),
                        let item = items.removeValue(forKey: finished)
                    {
                        finished += 1
                        try await finish(item, output)
                    }
                }
            }
        }.get()
    }

    private static func nextTick<Output>() async -> Event<Output> {
        try? await Task.sleep(for: tick)
        return .tick
    }
}

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

/// The progress of a long run, shared by its tasks and its display, and a flag to stop it.
package final class RunMonitor<Progress: Sendable>: Sendable {
    private let progress: Mutex<Progress>
    private let stopped = Atomic(false)

    package init(_ progress: Progress) { self.progress = Mutex(progress) }

    package var now: Progress { progress.withLock { $0 } }

    package func change(_ body: (inout Progress) -> Void) { progress.withLock { body(&$0) } }

    /// Starts nothing new from now on. The run ends at its next checkpoint.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    /// `true` after ``stop()``, and in a canceled task.
    package var isStopped: Bool { stopped.load(ordering: .relaxed) || Task.isCancelled }
}
