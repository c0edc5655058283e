import Ledger
import Logging
import Pipeline
import StoreTypes
import Synchronization
import Telemetry
import Transport

/// What is forwarded to one target: a few at a time, the one that waits longest first.
///
/// No lane waits for another, and nothing in a lane for what failed: that has its own time. Two deliveries about one
/// purchase are never under way together, so that the second does not overtake the first.
final class DeliveryWorker: Sendable {
    /// What all lanes have in common.
    struct Dependencies: Sendable {
        let source: ForwardingContext
        let bodies: DeliveryBodies
        let transport: any HTTPTransport
        let wakeUp: AsyncSignal
        let options: Forwarder.Options
        let counts: AppMetricsRegistry
        let now: @Sendable () -> Timestamp
        let logger: Logger
    }

    private struct State {
        var inFlight: [Int64: String?] = [:]
        /// Somebody found work that had to wait for what is under way.
        var hasPassedOver = false
        var lastFailureLog: Timestamp?
    }

    /// Looked at to find one that may be sent.
    private static let window = 64

    private let target: ForwardTarget
    private let targetKey: ForwardingTargetKey
    private let parts: Dependencies
    private let state = Mutex(State())
    /// Wakes the workers.
    private let call = AsyncSignal()
    /// Where nobody woke them.
    private static let timeout = Duration.seconds(60)

    init(target: ForwardTarget, targetKey: ForwardingTargetKey, parts: Dependencies) {
        self.target = target
        self.targetKey = targetKey
        self.parts = parts
    }

    /// Wakes the workers when something is due, until `isClosing`, or cancelled.
    func watch(until isClosing: @Sendable () -> Bool) async {
        while true {
            // First the bell: else what changes in between is slept through.
            let signals = parts.wakeUp.signals
            guard !Task.isCancelled, !isClosing() else { break }
            do throws(StorageError) {
                if try await !due(limit: 1).isEmpty { call.signal() }
            } catch {
                logFailure("the store cannot be read", error.code.rawValue)
            }
            await parts.wakeUp.wait(after: signals, atMost: parts.options.poll)
        }
        call.signal()
    }

    /// One worker: until `isClosing`, or cancelled.
    func work(until isClosing: @Sendable () -> Bool) async {
        while true {
            let signals = call.signals
            guard !Task.isCancelled, !isClosing() else { return }
            do throws(StorageError) {
                if let due = try await claim() {
                    defer { release(due) }
                    // Another worker may have tried it since the list was read.
                    let delivery = try await parts.source.store.dueDelivery(due.id, at: parts.now())
                    if let delivery { await deliver(delivery) }
                    continue
                }
            } catch {
                logFailure("the store cannot be read", error.code.rawValue)
            }
            await call.wait(after: signals, atMost: Self.timeout)
        }
    }

    // MARK: - Who does what

    private func claim() async throws(StorageError) -> PendingDelivery? {
        let due = try await due(limit: Self.window)
        return state.withLock { state in
            let subjects = Set(state.inFlight.values.compactMap { $0 })
            let free = due.first { due in
                state.inFlight[due.id] == nil && due.subject.map { !subjects.contains($0) } ?? true
            }
            if let free {
                state.inFlight[free.id] = .some(free.subject)
            } else if !due.isEmpty {
                state.hasPassedOver = true
            }
            return free
        }
    }

    private func due(limit: Int) async throws(StorageError) -> [PendingDelivery] {
        try await parts.source.store.dueDeliveries(to: targetKey, at: parts.now(), limit: limit)
    }

    private func release(_ due: PendingDelivery) {
        let somebodyWaits = state.withLock { state in
            state.inFlight[due.id] = nil
            defer { state.hasPassedOver = false }
            return state.hasPassedOver
        }
        if somebodyWaits { call.signal() }
    }

    // MARK: - One delivery

    private func deliver(_ delivery: StoredDelivery) async {
        var sent = delivery.bodiesSent
        let outcome: DeliveryOutcome
        do throws(ForwardingFailure) {
            let bodies = try await parts.bodies.bodies(of: delivery, for: target)
            for (place, body) in bodies.enumerated().dropFirst(sent) {
                try await post(body, part: place + 1, of: bodies.count, delivery)
                sent = place + 1
            }
            outcome = bodies.isEmpty ? .skipped : .delivered(bodies: sent)
        } catch {
            // The end of the process is nobody's failure: the next one sends it.
            if Task.isCancelled || error == .stopped { return }
            outcome = failed(delivery, error, sent)
        }
        parts.counts[targetKey.bundleId].deliveries.add(DeliveryLabel(outcome).rawValue)
        await recordOutcome(delivery, outcome)
    }

    private func post(
        _ body: [UInt8], part: Int, of parts: Int, _ delivery: StoredDelivery
    ) async throws(ForwardingFailure) {
        let response: HTTPResponse
        do throws(TransportError) {
            let request = try DeliveryRequest.make(
                body, part: part, of: parts, delivery: delivery, to: target, now: self.parts.now(),
                timeout: self.parts.options.timeout)
            response = try await self.parts.transport.send(request)
        } catch {
            throw [.shutDown, .cancelled].contains(error.code)
                ? .stopped : ForwardingFailure("transport.\(error.code.rawValue)")
        }
        guard (200...299).contains(response.status) else { throw ForwardingFailure("http.\(response.status)") }
    }

    private func failed(_ delivery: StoredDelivery, _ failure: ForwardingFailure, _ sent: Int) -> DeliveryOutcome {
        let next = parts.options.schedule.next(
            afterFailures: delivery.attempts + 1, queuedAt: delivery.queuedAt, now: parts.now())
        guard let next else {
            parts.logger.error(
                "a notification is given up",
                metadata: [
                    "notificationUUID": "\(delivery.uuid)", "host": "\(target.url.host)",
                    "as": "\(target.form.rawValue)",
                    "reason": "\(failure.code)",
                ])
            return .abandoned(code: failure.code, bodiesSent: sent)
        }
        logFailure("a notification was not forwarded", failure.code)
        return .failed(code: failure.code, bodiesSent: sent, next: next)
    }

    /// Until it is written down: else it would be posted again and again while the disk is full.
    private func recordOutcome(_ delivery: StoredDelivery, _ outcome: DeliveryOutcome) async {
        while true {
            do throws(StorageError) {
                return try await parts.source.store.recordOutcome(delivery, outcome)
            } catch {
                logFailure("what became of a notification cannot be written down", error.code.rawValue)
            }
            do { try await Task.sleep(for: parts.options.poll) } catch { return }
        }
    }

    /// Once a minute.
    private func logFailure(_ line: String, _ reason: String) {
        let now = parts.now()
        let isDue = state.withLock { state in
            if let last = state.lastFailureLog, last <= now, now.milliseconds - last.milliseconds < 60_000 {
                return false
            }
            state.lastFailureLog = now
            return true
        }
        guard isDue else { return }
        parts.logger.warning(
            "\(line)",
            metadata: [
                "host": "\(target.url.host)", "as": "\(target.form.rawValue)", "bundleId": "\(targetKey.bundleId)",
                "reason": "\(reason)",
            ])
    }
}

extension ForwardingFailure {
    /// This process ends.
    fileprivate static let stopped = ForwardingFailure("stopped")
}

extension DeliveryLabel {
    fileprivate init(_ outcome: DeliveryOutcome) {
        switch outcome {
        case .delivered: self = .delivered
        case .skipped: self = .nothing
        case .failed: self = .failed
        case .abandoned: self = .dead
        }
    }
}
