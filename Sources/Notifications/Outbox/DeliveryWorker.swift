import ConcurrencySupport
import Storage
import Logging
import VerifyReceipt
import AppStoreTypes
import Synchronization
import Telemetry
import Transport

/// Delivers notifications to one target, several at the same time, those with the earliest due time first.
///
/// Workers of different targets are independent. A failed delivery does not block the others of its target, because
/// it is retried at its own time. Two deliveries about one purchase are never in flight together, so that the second
/// cannot overtake the first.
final class DeliveryWorker: Sendable {
    /// Dependencies that all workers share.
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
        /// The id of each claimed delivery, and the purchase that it is about.
        var inFlight: [Int64: String?] = [:]
        /// Whether a task found due deliveries but could claim none, because deliveries about the same purchases are
        /// in flight.
        var hasBlockedDelivery = false
    }

    /// Number of due deliveries that are searched for one that may be sent.
    private static let window = 64

    private let target: ForwardTarget
    private let targetKey: ForwardingTargetKey
    private let dependencies: Dependencies
    private let state = Mutex(State())
    /// All failures of the target share one limit.
    private let logThrottle = LogThrottle<ForwardingTargetKey>()
    /// Wakes the tasks that send.
    private let workSignal = AsyncSignal()
    /// How long a task waits at most without a signal.
    private static let maximumWait = Duration.seconds(60)

    init(target: ForwardTarget, targetKey: ForwardingTargetKey, dependencies: Dependencies) {
        self.target = target
        self.targetKey = targetKey
        self.dependencies = dependencies
    }

    /// Wakes the sending tasks when a delivery is due. Returns if `isClosing` is true or the task is canceled.
    func signalWhenDue(until isClosing: @Sendable () -> Bool) async {
        while true {
            // Read the number of signals first. Otherwise, a signal between the check and the wait would be lost.
            let signals = dependencies.wakeUp.signals
            guard !Task.isCancelled, !isClosing() else { break }
            do throws(StorageError) {
                if try await !due(limit: 1).isEmpty { workSignal.signal() }
            } catch {
                logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
            }
            await dependencies.wakeUp.wait(after: signals, atMost: dependencies.options.poll)
        }
        workSignal.signal()
    }

    /// Sends due deliveries one after another. Returns if `isClosing` is true or the task is canceled.
    func work(until isClosing: @Sendable () -> Bool) async {
        while true {
            let signals = workSignal.signals
            guard !Task.isCancelled, !isClosing() else { return }
            do throws(StorageError) {
                if let due = try await claim() {
                    defer { release(due) }
                    // Another task may have tried it since the list was read.
                    let delivery = try await dependencies.source.store.dueDelivery(due.id, at: dependencies.now())
                    if let delivery { await deliver(delivery) }
                    continue
                }
            } catch {
                logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
            }
            await workSignal.wait(after: signals, atMost: Self.maximumWait)
        }
    }

    // MARK: - Claiming deliveries

    /// Claims the first due delivery that may be sent: it is not claimed already, and no delivery about the same
    /// purchase is in flight. Returns `nil` if there is none.
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
                state.hasBlockedDelivery = true
            }
            return free
        }
    }

    /// Returns due deliveries of this target, those with the earliest due time first.
    private func due(limit: Int) async throws(StorageError) -> [PendingDelivery] {
        try await dependencies.source.store.dueDeliveries(to: targetKey, at: dependencies.now(), limit: limit)
    }

    /// Releases a claimed delivery, and wakes a task that found only blocked deliveries.
    private func release(_ due: PendingDelivery) {
        let wasBlocked = state.withLock { state in
            state.inFlight[due.id] = nil
            defer { state.hasBlockedDelivery = false }
            return state.hasBlockedDelivery
        }
        if wasBlocked { workSignal.signal() }
    }

    // MARK: - Sending a delivery

    /// Sends the bodies of a delivery that were not sent before, and records the outcome. If a body fails, a retry
    /// begins with that body.
    private func deliver(_ delivery: StoredDelivery) async {
        var sent = delivery.bodiesSent
        let outcome: DeliveryOutcome
        do throws(ForwardingFailure) {
            let bodies = try await dependencies.bodies.bodies(of: delivery, for: target)
            for (index, body) in bodies.enumerated().dropFirst(sent) {
                try await post(body, part: index + 1, of: bodies.count, delivery)
                sent = index + 1
            }
            outcome = bodies.isEmpty ? .skipped : .delivered(bodies: sent)
        } catch {
            // Stopping the process is not a failure: the delivery stays due, and the next process sends it.
            if Task.isCancelled || error == .stopped { return }
            outcome = failed(delivery, error, sent)
        }
        dependencies.counts[targetKey.bundleId].deliveries.add(DeliveryLabel(outcome).rawValue)
        await recordOutcome(delivery, outcome)
    }

    /// Posts one body.
    ///
    /// - Throws: ``ForwardingFailure`` unless the target responds with 200 to 299. Redirects are not followed.
    private func post(
        _ body: [UInt8], part: Int, of count: Int, _ delivery: StoredDelivery
    ) async throws(ForwardingFailure) {
        let response: HTTPResponse
        do throws(TransportError) {
            let request = try DeliveryRequest.make(
                body, part: part, of: count, delivery: delivery, to: target, now: dependencies.now(),
                timeout: dependencies.options.timeout)
            response = try await dependencies.transport.send(request)
        } catch {
            throw [.shutDown, .cancelled].contains(error.code)
                ? .stopped : ForwardingFailure("transport.\(error.code.rawValue)")
        }
        guard (200...299).contains(response.status) else { throw ForwardingFailure("http.\(response.status)") }
    }

    /// Returns the outcome of a failed attempt: a retry at a later time, or the end of the delivery if the schedule
    /// has no more retries.
    private func failed(_ delivery: StoredDelivery, _ failure: ForwardingFailure, _ sent: Int) -> DeliveryOutcome {
        let next = dependencies.options.schedule.next(
            afterFailures: delivery.attempts + 1, queuedAt: delivery.queuedAt, now: dependencies.now())
        guard let next else {
            dependencies.logger.error(
                "notification delivery failed for good; no more retries",
                metadata: [
                    "notificationUUID": "\(delivery.uuid)", "host": "\(target.url.host)",
                    "as": "\(target.form.rawValue)",
                    "reason": "\(failure.code)",
                ])
            return .abandoned(code: failure.code, bodiesSent: sent)
        }
        logFailure("notification delivery failed; will retry", failure.code)
        return .failed(code: failure.code, bodiesSent: sent, next: next)
    }

    /// Records the outcome, and retries until the store accepts it. Otherwise, the same notification would be posted
    /// again and again while the disk is full.
    private func recordOutcome(_ delivery: StoredDelivery, _ outcome: DeliveryOutcome) async {
        while true {
            do throws(StorageError) {
                return try await dependencies.source.store.recordOutcome(delivery, outcome)
            } catch {
                logFailure("cannot record delivery outcome; will retry", error.code.rawValue)
            }
            do { try await Task.sleep(for: dependencies.options.poll) } catch { return }
        }
    }

    /// Logs a failure, at most once a minute for this target.
    private func logFailure(_ line: String, _ reason: String) {
        guard logThrottle.allows(targetKey, at: dependencies.now().sinceEpoch) else { return }
        dependencies.logger.warning(
            "\(line)",
            metadata: [
                "host": "\(target.url.host)", "as": "\(target.form.rawValue)", "bundleId": "\(targetKey.bundleId)",
                "reason": "\(reason)",
            ])
    }
}

extension ForwardingFailure {
    /// The process is stopping.
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
