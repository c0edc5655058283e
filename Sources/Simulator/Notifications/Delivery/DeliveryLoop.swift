import Cryptography
import Synchronization

/// Sends letters while the store runs: several at a time, again after failures, and keeps count.
final class DeliveryLoop: Sendable {
    private struct State {
        var queue = DeliveryQueue()
        var counts = DeliveryCounts()
        var concurrency = 8
        /// Tasks, each of which carries one letter at a time, or looks for one.
        var workers = 0
        /// Letters that are taken and not yet done with.
        var inHand = 0
        /// When the queue is looked at again without being asked.
        var alarm: ContinuousClock.Instant?
        var bell: AsyncStream<Void>.Continuation?
    }

    private let log: NotificationLog
    private let clock: SimulatedClock
    /// Made anew for each attempt; nil where it cannot be made.
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

    /// Sends the letters in this order, as far as several at a time keep one.
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

    /// Until the task is cancelled; what is waiting then waits for the next run.
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

    /// How many more workers there is work for.
    private func hire() -> Int {
        state.withLock { state in
            let free = max(state.concurrency - state.workers, 0)
            let count = state.queue.dueCount(at: .now, limit: free)
            state.workers += count
            return count
        }
    }

    /// When to ring next, unless that is arranged already.
    private func newAlarm() -> ContinuousClock.Instant? {
        state.withLock { state in
            guard let due = state.queue.due, state.alarm.map({ due < $0 }) ?? true else { return nil }
            state.alarm = due
            return due
        }
    }
}

/// One worker.
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

    /// Nil when there is nothing left to do: the worker goes.
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

    /// Copies are sent once and leave no trace in the history.
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
