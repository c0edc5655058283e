import ReceiptBridgeBase
import Foundation
import Logging
import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTransport

/// Delivers notifications to one target, several at the same time, those with the earliest due time first.
///
/// Workers of different targets are independent. A failed delivery does not block the others of its target, because
/// it is retried at its own time. ``DeliveryQueue`` decides; the worker performs its actions.
final class DeliveryWorker: Sendable {
    struct Dependencies: Sendable {
        let source: ForwardingContext
        let bodies: DeliveryBodies
        let transport: any HTTPTransport
        let options: Forwarder.Options
        let counts: AppMetricsRegistry
        let now: @Sendable () -> Timestamp
        let instant: @Sendable () -> ContinuousClock.Instant
        let logger: Logger
    }

    private let target: ForwardTarget
    let targetKey: ForwardingTargetKey
    /// Signaled when deliveries may be due.
    let wakeUp = AsyncSignal()
    private let dependencies: Dependencies
    /// Identifies this worker among all processes with the same store.
    private let lease = DeliveryLease(lessee: "\(DeliveryLease.process)/\(UUID().uuidString)")
    private let queue: Mutex<DeliveryQueue>
    /// All failures of the target share one limit.
    private let logThrottle = LogThrottle<ForwardingTargetKey>()

    init(target: ForwardTarget, targetKey: ForwardingTargetKey, dependencies: Dependencies) {
        (self.target, self.targetKey, self.dependencies) = (target, targetKey, dependencies)
        queue = Mutex(DeliveryQueue(maximum: target.concurrency, schedule: dependencies.options.schedule))
    }

    /// Sends due deliveries. If `isClosing` is true or the task is canceled, it begins no further one, releases those
    /// that it has claimed, and returns when those in flight have ended.
    func run(until isClosing: @Sendable () -> Bool) async {
        await withTaskGroup(of: DeliveryQueue.Event.self) { group in
            var event: DeliveryQueue.Event? = .started
            while let current = event {
                // Read before the next claim. Otherwise, a signal between the claim and the wait would be lost.
                let signals = wakeUp.signals
                let isEnding = Task.isCancelled || isClosing()
                let actions = queue.withLock { queue in
                    if isEnding { queue.stop() }
                    return queue.actions(after: current, at: dependencies.instant())
                }
                for action in actions {
                    if case .settle(let delivery, let outcome) = action { report(delivery, outcome) }
                    group.addTask { await self.perform(action, signals) }
                }
                event = queue.withLock(\.isDone) ? nil : await group.next()
            }
            group.cancelAll()
        }
    }

    var limit: Forwarder.Limit {
        Forwarder.Limit(
            bundleId: targetKey.bundleId, host: target.url.host, form: target.form,
            deliveries: queue.withLock(\.concurrency.limit))
    }

    private var outbox: any DeliveryOutbox { dependencies.source.store.outbox }

    private func perform(_ action: DeliveryQueue.Action, _ signals: UInt64) async -> DeliveryQueue.Event {
        while true {
            do throws(StorageError) {
                switch action {
                case .awaitArrival: await wakeUp.wait(after: signals, atMost: .hours(1))
                // A task that is canceled needs no further renewal.
                case .awaitRenewal:
                    return (try? await Task.sleep(for: dependencies.options.renewal)) == nil ? .arrived : .renewalDue
                case .claim(let limit, let end):
                    return .claimed(
                        try await outbox.claim(
                            to: targetKey, for: lease, at: dependencies.now(), takingOverUntil: end, limit: limit))
                case .renew(let ids): return .renewed(try await outbox.renew(ids, for: lease, at: dependencies.now()))
                case .send(let delivery): return await send(delivery)
                case .settle(let delivery, let outcome):
                    try await outbox.settle(delivery, outcome, at: dependencies.now())
                case .release(let deliveries): try await outbox.release(deliveries)
                }
                return action.end.event
            } catch {
                logFailure(action.end.failure, error.code.rawValue)
                // Otherwise, the same notification would be posted again and again while the disk is full.
                guard case .settle = action, (try? await Task.sleep(for: dependencies.options.poll)) != nil else {
                    return action.end.event
                }
            }
        }
    }

    // MARK: - Sending a delivery

    /// Sends the bodies of a delivery that were not sent before. If a body fails, a retry begins with that body.
    private func send(_ delivery: StoredDelivery) async -> DeliveryQueue.Event {
        var sent = delivery.bodiesSent
        do throws(ForwardingFailure) {
            let bodies = try await dependencies.bodies.bodies(of: delivery, for: target)
            for (index, body) in bodies.enumerated().dropFirst(sent) {
                try await post(body, part: index + 1, of: bodies.count, delivery)
                sent = index + 1
            }
            return .attempted(delivery, bodiesSent: bodies.isEmpty ? 0 : sent, nil)
        } catch {
            return .attempted(delivery, bodiesSent: sent, Task.isCancelled ? .stopped : error)
        }
    }

    /// - Throws: ``ForwardingFailure`` unless the target responds with 200 to 299. Redirects are not followed.
    private func post(
        _ body: [UInt8], part: Int, of count: Int, _ delivery: StoredDelivery
    ) async throws(ForwardingFailure) {
        let instant = dependencies.instant()
        guard let reductions = queue.withLock({ $0.beginPost(of: delivery.id, at: instant) }) else { throw .leaseEnded }
        let start = ContinuousClock.now
        let response: HTTPResponse
        do throws(TransportError) {
            let request = try DeliveryRequest.make(
                body, part: part, of: count, delivery: delivery, to: target, now: dependencies.now(),
                timeout: dependencies.options.timeout)
            response = try await dependencies.transport.send(request)
        } catch {
            guard ![.shutDown, .cancelled].contains(error.code) else { throw .stopped }
            queue.withLock { $0.recordPost(status: 0, after: .zero, begunAfter: reductions) }
            throw ForwardingFailure("transport.\(error.code.rawValue)")
        }
        let latency = ContinuousClock.now - start
        queue.withLock { $0.recordPost(status: response.status, after: latency, begunAfter: reductions) }
        guard (200...299).contains(response.status) else { throw ForwardingFailure("http.\(response.status)") }
    }

    private func report(_ delivery: StoredDelivery, _ outcome: DeliveryOutcome) {
        let deliveries = dependencies.counts[targetKey.bundleId].deliveries
        switch outcome {
        case .delivered: deliveries.add(DeliveryLabel.delivered)
        case .skipped: deliveries.add(DeliveryLabel.nothing)
        case .failed(let code, _, _):
            deliveries.add(DeliveryLabel.failed)
            logFailure("notification delivery failed; will retry", code)
        case .abandoned(let code, _):
            deliveries.add(DeliveryLabel.dead)
            dependencies.logger.error(
                "notification delivery failed for good; no more retries",
                metadata: [
                    "notificationUUID": "\(delivery.uuid)", "host": "\(target.url.host)",
                    "as": "\(target.form.rawValue)", "reason": "\(code)",
                ])
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

extension DeliveryQueue.Action {
    /// The event after a failure of the store, or after an action without a result, and the log line of the failure.
    fileprivate var end: (event: DeliveryQueue.Event, failure: String) {
        switch self {
        case .claim: (.claimed(nil), "cannot read due deliveries from the store; will retry")
        case .renew: (.renewed(nil), "cannot renew the claims of deliveries in the store; will retry")
        case .settle(let delivery, _): (.ended([delivery.id]), "cannot record delivery outcome; will retry")
        case .release(let deliveries):
            (.ended(deliveries.map(\.id)), "cannot release deliveries in the store; they wait until their leases end")
        case .awaitArrival, .awaitRenewal, .send: (.arrived, "")
        }
    }
}
