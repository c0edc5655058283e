import BridgeConfiguration
import ConcurrencySupport
import Storage
import Logging
import VerifyReceipt
import AppStoreTypes
import Foundation
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
        /// Leased deliveries that no task has begun to send, in the order in which they are sent.
        var claimed: [StoredDelivery] = []
        /// Whether a task is claiming deliveries. The others wait for it.
        var isClaiming = false
        /// Whether a delivery was settled while a task was claiming. Another one about the same purchase may be
        /// claimed since.
        var hasSettledDuringClaim = false
    }

    /// What a task does next.
    private enum Step {
        case deliver(StoredDelivery)
        case claim
        case wait
    }

    /// Maximum number of deliveries that are leased in one transaction. Few, because they wait for a slow target.
    private static let batch = 8
    /// Length of a lease in milliseconds: three minutes. A batch takes less, even if every lookup and every post times
    /// out. After a crash, other workers wait for the end of the lease.
    private static let leaseLength: Int64 = 180_000

    private let target: ForwardTarget
    private let targetKey: ForwardingTargetKey
    private let dependencies: Dependencies
    /// Identifies this worker among all processes with the same store.
    private let lessee = "\(DeliveryLease.process)/\(UUID().uuidString)"
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
                if try await outbox.hasDueDelivery(to: targetKey, at: dependencies.now()) { workSignal.signal() }
            } catch {
                logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
            }
            await dependencies.wakeUp.wait(after: signals, atMost: dependencies.options.poll)
        }
        workSignal.signal()
    }

    /// Sends due deliveries one after another. Returns if `isClosing` is true or the task is canceled; deliveries that
    /// were not sent are released.
    func work(until isClosing: @Sendable () -> Bool) async {
        var hasSettled = false
        while true {
            let signals = workSignal.signals
            guard !Task.isCancelled, !isClosing() else { return await releaseClaimed() }
            do throws(StorageError) {
                if let delivery = try await next(hasSettled: hasSettled) {
                    await deliver(delivery)
                    hasSettled = true
                    continue
                }
            } catch {
                logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
            }
            hasSettled = false
            await workSignal.wait(after: signals, atMost: Self.maximumWait)
        }
    }

    private var outbox: any DeliveryOutbox { dependencies.source.store.outbox }

    // MARK: - Claiming deliveries

    /// Returns the next leased delivery. Claims further ones if necessary; returns `nil` if there are no further
    /// ones, or if another task is claiming.
    private func next(hasSettled: Bool) async throws(StorageError) -> StoredDelivery? {
        let now = dependencies.now()
        let step = state.withLock { state -> Step in
            // Another worker may have a delivery whose lease ran out.
            state.claimed.removeAll { $0.lease.until <= now }
            if !state.claimed.isEmpty { return .deliver(state.claimed.removeFirst()) }
            if state.isClaiming {
                state.hasSettledDuringClaim = state.hasSettledDuringClaim || hasSettled
                return .wait
            }
            state.isClaiming = true
            return .claim
        }
        switch step {
        case .deliver(let delivery): return delivery
        case .wait: return nil
        case .claim: return try await claim(at: now)
        }
    }

    /// Leases due deliveries. Returns the first one, and leaves the others to all tasks.
    private func claim(at now: Timestamp) async throws(StorageError) -> StoredDelivery? {
        let lease = DeliveryLease(lessee: lessee, until: now.advanced(byMilliseconds: Self.leaseLength))
        let found: [StoredDelivery]
        do throws(StorageError) {
            found = try await outbox.claim(to: targetKey, for: lease, at: now, limit: Self.batch)
        } catch {
            state.withLock { ($0.isClaiming, $0.hasSettledDuringClaim) = (false, false) }
            throw error
        }
        let wakesOthers = state.withLock { state in
            state.claimed += found.dropFirst()
            defer { (state.isClaiming, state.hasSettledDuringClaim) = (false, false) }
            return found.count > 1 || state.hasSettledDuringClaim
        }
        if wakesOthers { workSignal.signal() }
        return found.first
    }

    /// Releases the leased deliveries that no task has begun to send.
    private func releaseClaimed() async {
        let claimed = state.withLock { state in
            defer { state.claimed = [] }
            return state.claimed
        }
        await release(claimed)
    }

    private func release(_ deliveries: [StoredDelivery]) async {
        do throws(StorageError) {
            try await outbox.release(deliveries)
        } catch {
            // The leases run out.
            logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
        }
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
            if Task.isCancelled || error == .stopped { return await release([delivery]) }
            outcome = failed(delivery, error, sent)
        }
        dependencies.counts[targetKey.bundleId].deliveries.add(DeliveryLabel(outcome).rawValue)
        await settle(delivery, outcome)
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
    private func settle(_ delivery: StoredDelivery, _ outcome: DeliveryOutcome) async {
        while true {
            do throws(StorageError) {
                return try await outbox.settle(delivery, outcome)
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
