import Cryptography
import Synchronization

/// Sends queued notifications while the store runs, several concurrently, retries after failures, and counts the
/// results.
final class DeliveryLoop: Sendable {
    private struct State {
        var queue = DeliveryQueue()
        var counts = DeliveryCounts()
        var concurrency = 8
        /// Number of running worker tasks. Each of them sends one notification at a time.
        var workers = 0
        /// Notifications that were taken from the queue and whose attempt has not ended.
        var inHand = 0
        /// When the loop checks the queue again without a signal.
        var alarm: ContinuousClock.Instant?
        /// Signals the loop that the queue has changed, or `nil` if the loop does not run.
        var bell: AsyncStream<Void>.Continuation?
    }

    private let log: NotificationLog
    private let clock: SimulatedClock
    /// Makes the body for each attempt, or returns `nil` if that is not possible.
    private let body: @Sendable (QueuedNotification) -> [UInt8]?
    private let state = Mutex(State())

    init(log: NotificationLog, clock: SimulatedClock, body: @escaping @Sendable (QueuedNotification) -> [UInt8]?) {
        self.log = log
        self.clock = clock
        self.body = body
    }

    var counts: DeliveryCounts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.queue.count + state.inHand
            return counts
        }
    }

    /// Queues notifications. They are sent in this order, as far as concurrent sending keeps an order.
    ///
    /// - Parameter lost: number of notifications that are only counted, not sent.
    func add(_ letters: [QueuedNotification], lost: Int = 0, concurrency: Int? = nil) {
        state.withLock { state in
            let copies = letters.count(where: \.isCopy)
            state.counts.made += letters.count - copies + lost
            state.counts.lost += lost
            state.counts.copies += copies
            if let concurrency { state.concurrency = max(concurrency, 1) }
            state.queue.add(letters)
            state.bell?.yield()
        }
    }

    /// Runs until the task is canceled. Queued notifications stay queued for the next run.
    func run() async {
        let (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.bell = bell }
        bell.yield()
        await withDiscardingTaskGroup { group in
            for await _ in bells {
                for _ in 0..<hire() { group.addTask { await self.work() } }
                guard let due = newAlarm() else { continue }
                group.addTask {
                    try? await Task.sleep(until: due, clock: .continuous)
                    self.state.withLock { if $0.alarm == due { $0.alarm = nil } }
                    bell.yield()
                }
            }
            group.cancelAll()
        }
        state.withLock {
            $0.bell = nil
            $0.alarm = nil
        }
    }

    /// Returns the number of additional workers needed, and counts them as running.
    private func hire() -> Int {
        state.withLock { state in
            let free = max(state.concurrency - state.workers, 0)
            let count = state.queue.dueCount(at: .now, limit: free)
            state.workers += count
            return count
        }
    }

    /// Returns the instant of a new timer, or `nil` if an earlier one is already set.
    private func newAlarm() -> ContinuousClock.Instant? {
        state.withLock { state in
            guard let due = state.queue.due, state.alarm.map({ due < $0 }) ?? true else { return nil }
            state.alarm = due
            return due
        }
    }
}

/// The worker tasks.
extension DeliveryLoop {
    private func work() async {
        var postman = NotificationSender()
        while let letter = dequeue() {
            if let body = body(letter) {
                finish(letter, await postman.deliver(body, to: letter.target))
            } else {
                finish(letter, nil)
            }
        }
        postman.close()
    }

    /// Returns the next due notification, or `nil` if there is none or if there are too many workers. The worker then
    /// ends.
    private func dequeue() -> QueuedNotification? {
        state.withLock { state in
            guard !Task.isCancelled, state.workers <= state.concurrency, let letter = state.queue.dequeue(at: .now)
            else {
                state.workers -= 1
                return nil
            }
            state.inHand += 1
            return letter
        }
    }

    /// Records the result of an attempt and schedules a retry. Duplicates are sent once and are not in the
    /// notification history.
    private func finish(_ letter: QueuedNotification, _ outcome: NotificationSender.Outcome?) {
        var letter = letter
        letter.attempts += 1
        if let outcome, !letter.isCopy { log.add(outcome.result, at: clock.now, to: letter.number) }
        let schedule = RetrySchedule(letter.target.version, letter.environment)
        let pause = schedule.pause(after: letter.attempts, speed: letter.speed)
        state.withLock { state in
            state.inHand -= 1
            state.counts.attempts += outcome == nil ? 0 : 1
            if letter.isCopy { return }
            if outcome?.result == .success {
                state.counts.delivered += 1
            } else if let pause, outcome?.isWorthRetrying == true {
                state.queue.add(letter, due: .now + pause)
                state.bell?.yield()
            } else {
                state.counts.failed += 1
            }
        }
    }
}
