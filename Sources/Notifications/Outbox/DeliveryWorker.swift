import Base
import BridgeConfiguration
import Foundation
import Logging
import Storage
import Synchronization
import Telemetry
import Transport
import VerifyReceipt

/// Delivers notifications to one target, several at the same time, those with the earliest due time first.
///
/// Workers of different targets are independent. A failed delivery does not block the others of its target, because
/// it is retried at its own time. Two deliveries about one purchase are never in flight together, so that the second
/// cannot overtake the first.
///
/// Deliveries are claimed with leases. The worker renews those of all deliveries that it holds, so that another worker
/// takes them over soon after this one was killed. No post begins after the end of its delivery's lease.
final class DeliveryWorker: Sendable {
    /// Dependencies that all workers share.
    struct Dependencies: Sendable {
        let source: ForwardingContext
        let bodies: DeliveryBodies
        let transport: any HTTPTransport
        let options: Forwarder.Options
        let counts: AppMetricsRegistry
        let now: @Sendable () -> Timestamp
        let logger: Logger
    }

    private struct State {
        var concurrency: DeliveryConcurrency
        var takeover: LeaseTakeover
        /// Leased deliveries that wait to be sent, in the order in which they are sent.
        var claimed: [StoredDelivery] = []
        /// Deliveries that are being sent, or whose outcome is being recorded.
        var inFlight: Set<Int64> = []
        /// The ends of the leases of all these deliveries. A delivery without one may belong to another worker.
        var leases: [Int64: Timestamp] = [:]

        /// Number of deliveries to claim now; 0 if there are enough. Half as many as can be in flight are claimed
        /// ahead, so that few claims are needed and no slot waits for them.
        var wanted: Int {
            let ahead = max(8, concurrency.limit / 2)
            let missing = max(concurrency.limit - inFlight.count, 0) + ahead - claimed.count
            return missing > ahead / 2 ? missing : 0
        }

        func holdsLease(of id: Int64, at now: Timestamp) -> Bool { leases[id].map { $0 > now } ?? false }
    }

    /// What the worker reacts to.
    private enum Event: Sendable {
        /// A delivery has ended. Another one about the same purchase may be due.
        case ended
        /// Due deliveries were claimed: all that may be sent, or as many as were wanted.
        case claimed(areAll: Bool)
        /// Deliveries may be due.
        case arrived
        /// The leases were renewed as far as possible.
        case renewed
    }

    private let target: ForwardTarget
    let targetKey: ForwardingTargetKey
    /// Signaled when deliveries may be due.
    let wakeUp = AsyncSignal()
    private let dependencies: Dependencies
    /// Identifies this worker among all processes with the same store.
    private let lessee = "\(DeliveryLease.process)/\(UUID().uuidString)"
    private let state: Mutex<State>
    /// All failures of the target share one limit.
    private let logThrottle = LogThrottle<ForwardingTargetKey>()

    init(target: ForwardTarget, targetKey: ForwardingTargetKey, dependencies: Dependencies) {
        self.target = target
        self.targetKey = targetKey
        self.dependencies = dependencies
        state = Mutex(
            State(
                concurrency: DeliveryConcurrency(maximum: target.concurrency),
                takeover: LeaseTakeover(at: dependencies.now())))
    }

    /// Sends due deliveries. If `isClosing` is true or the task is canceled, it begins no further one, releases those
    /// that it has claimed, and returns when those in flight have ended.
    func run(until isClosing: @Sendable () -> Bool) async {
        await withTaskGroup(of: Event.self) { group in
            var (isClaiming, mayFind) = (false, true)
            var signals = wakeUp.signals
            func awaitArrival() {
                group.addTask { [signals, wakeUp] in
                    await wakeUp.wait(after: signals, atMost: .seconds(3_600))
                    return .arrived
                }
            }
            func awaitRenewal() {
                group.addTask {
                    try? await Task.sleep(for: self.dependencies.options.renewal)
                    await self.renewLeases()
                    return .renewed
                }
            }
            awaitArrival()
            awaitRenewal()
            while true {
                let isEnding = Task.isCancelled || isClosing()
                if isEnding {
                    await releaseClaimed()
                    if !isClaiming, state.withLock({ $0.inFlight.isEmpty }) { break }
                } else {
                    for delivery in begin() {
                        group.addTask {
                            await self.deliver(delivery)
                            self.end(delivery)
                            return .ended
                        }
                    }
                    let wanted = mayFind && !isClaiming ? state.withLock(\.wanted) : 0
                    if wanted > 0 {
                        (isClaiming, mayFind) = (true, false)
                        group.addTask { .claimed(areAll: await self.claim(wanted) < wanted) }
                    }
                }
                switch await group.next() {
                case .ended: mayFind = true
                case .claimed(let areAll):
                    isClaiming = false
                    mayFind = mayFind || !areAll
                case .arrived where !isEnding:
                    // Read before the next claim. Otherwise, a signal between the claim and the wait would be lost.
                    signals = wakeUp.signals
                    mayFind = true
                    awaitArrival()
                case .renewed where !Task.isCancelled: awaitRenewal()
                case .arrived, .renewed, nil: break
                }
            }
            group.cancelAll()
        }
    }

    /// The present limit of deliveries in flight.
    var limit: Forwarder.Limit {
        Forwarder.Limit(
            bundleId: targetKey.bundleId, host: target.url.host, form: target.form,
            deliveries: state.withLock(\.concurrency.limit))
    }

    private var outbox: any DeliveryOutbox { dependencies.source.store.outbox }

    // MARK: - Leases

    /// Leases due deliveries. Returns how many; 0 if the store failed.
    private func claim(_ limit: Int) async -> Int {
        let now = dependencies.now()
        do throws(StorageError) {
            let found = try await outbox.claim(
                to: targetKey, for: lease(at: now), at: now,
                takingOverUntil: state.withLock { $0.takeover.limit(at: now) }, limit: limit)
            state.withLock { state in
                state.takeover.recordResponse(at: dependencies.now())
                for delivery in found {
                    // A delivery of this worker whose lease had ended, and that no other one has claimed, is not sent
                    // again.
                    let isKnown = state.leases[delivery.id] != nil || state.inFlight.contains(delivery.id)
                    state.leases[delivery.id] = delivery.lease.until
                    if !isKnown { state.claimed.append(delivery) }
                }
            }
            return found.count
        } catch {
            logFailure("cannot read due deliveries from the store; will retry", error.code.rawValue)
            return 0
        }
    }

    /// Returns claimed deliveries that are now in flight, as many as the limit allows. Those whose lease has ended wait
    /// for its renewal.
    private func begin() -> [StoredDelivery] {
        let now = dependencies.now()
        return state.withLock { state in
            let free = max(state.concurrency.limit - state.inFlight.count, 0)
            let first = Array(state.claimed.filter { state.holdsLease(of: $0.id, at: now) }.prefix(free))
            state.inFlight.formUnion(first.map(\.id))
            state.claimed.removeAll { state.inFlight.contains($0.id) }
            return first
        }
    }

    private func end(_ delivery: StoredDelivery) {
        state.withLock { state in
            state.inFlight.remove(delivery.id)
            state.leases[delivery.id] = nil
        }
    }

    /// Extends the leases of all deliveries of this worker. Those that another worker has claimed since are not begun.
    private func renewLeases() async {
        let held = state.withLock(\.leases)
        guard !held.isEmpty else { return }
        let now = dependencies.now()
        let lease = lease(at: now)
        do throws(StorageError) {
            let renewed = try await outbox.renew(Set(held.keys), for: lease)
            state.withLock { state in
                state.takeover.recordResponse(at: dependencies.now())
                // A delivery that has ended meanwhile can even have been claimed again.
                for (id, end) in held where state.leases[id] == end {
                    state.leases[id] = renewed.contains(id) ? lease.until : nil
                }
                state.claimed.removeAll { state.leases[$0.id] == nil }
            }
        } catch {
            logFailure("cannot renew the claims of deliveries in the store; will retry", error.code.rawValue)
        }
    }

    private func lease(at now: Timestamp) -> DeliveryLease {
        DeliveryLease(lessee: lessee, until: now.advanced(by: DeliveryLease.length))
    }

    /// Releases the leased deliveries that wait to be sent.
    private func releaseClaimed() async {
        let claimed = state.withLock { state in
            defer { state.claimed = [] }
            for delivery in state.claimed { state.leases[delivery.id] = nil }
            return state.claimed
        }
        if !claimed.isEmpty { await release(claimed) }
    }

    private func release(_ deliveries: [StoredDelivery]) async {
        do throws(StorageError) {
            try await outbox.release(deliveries)
        } catch {
            logFailure("cannot release deliveries in the store; they wait until their leases end", error.code.rawValue)
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
            // Neither stopping the process nor the end of a lease is a failure: the delivery stays due.
            if Task.isCancelled || [.stopped, .leaseEnded].contains(error) { return await release([delivery]) }
            outcome = failed(delivery, error, sent)
        }
        dependencies.counts[targetKey.bundleId].deliveries.add(DeliveryLabel(outcome))
        await settle(delivery, outcome)
    }

    /// Posts one body.
    ///
    /// - Throws: ``ForwardingFailure`` unless the target responds with 200 to 299. Redirects are not followed.
    private func post(
        _ body: [UInt8], part: Int, of count: Int, _ delivery: StoredDelivery
    ) async throws(ForwardingFailure) {
        let now = dependencies.now()
        let (isHeld, reductions) = state.withLock {
            ($0.holdsLease(of: delivery.id, at: now), $0.concurrency.reductions)
        }
        guard isHeld else { throw .leaseEnded }
        let start = ContinuousClock.now
        let response: HTTPResponse
        do throws(TransportError) {
            let request = try DeliveryRequest.make(
                body, part: part, of: count, delivery: delivery, to: target, now: now,
                timeout: dependencies.options.timeout)
            response = try await dependencies.transport.send(request)
        } catch {
            guard ![.shutDown, .cancelled].contains(error.code) else { throw .stopped }
            state.withLock { $0.concurrency.recordFailure(begunAfter: reductions) }
            throw ForwardingFailure("transport.\(error.code.rawValue)")
        }
        let latency = ContinuousClock.now - start
        state.withLock { state in
            switch response.status {
            case 200...299: state.concurrency.recordSuccess(after: latency, inFlight: state.inFlight.count)
            case 408, 429, 500...: state.concurrency.recordFailure(begunAfter: reductions)
            // The target refuses this notification, or is in another place, which does not depend on the load.
            default: break
            }
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
    /// Another worker may have claimed the delivery.
    fileprivate static let leaseEnded = ForwardingFailure("leaseEnded")
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
