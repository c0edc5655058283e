import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Synchronization
import ReceiptBridgeTransport

/// Sends queued notifications while the store runs, several concurrently, retries after failures, and counts the
/// results.
extension NotificationOutbox {
    /// Queued notifications stay queued for the next run. Throws if no HTTP client can be started.
    func run() async throws {
        let sender = try NotificationSender()
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let signals = changes.signals
                while let notification = dequeue() {
                    group.addTask {
                        guard let body = self.body(of: notification) else { return self.finish(notification, nil) }
                        self.finish(notification, await sender.deliver(body, to: notification.target))
                    }
                }
                let pause = state.withLock { $0.due }.map { ContinuousClock.now.duration(to: $0) }
                await changes.wait(after: signals, atMost: pause ?? .days(1))
            }
            group.cancelAll()
        }
        await sender.shutDown()
    }

    /// Returns the body for an attempt, or `nil` if version 1 has no such notification.
    private func body(of queued: QueuedNotification) -> [UInt8]? {
        guard let notification = log[queued.logIndex]?.notification else { return nil }
        guard let type = queued.type else { return try? issuer.body(of: notification) }
        return (try? verifyReceipt.notificationBody(notification, as: type))??.bytes
    }

    /// Returns the next due notification, or `nil` if no notification is due or too many are in flight.
    private func dequeue() -> QueuedNotification? {
        state.withLock { state in
            guard !Task.isCancelled, state.inFlight < state.concurrency,
                let notification = state.queue.dequeue(at: .now)
            else { return nil }
            state.inFlight += 1
            return notification
        }
    }

    /// Schedules a retry. Duplicates are sent once and are not in the notification history.
    private func finish(_ notification: QueuedNotification, _ outcome: NotificationSender.AttemptResult?) {
        var notification = notification
        notification.attempts += 1
        if let outcome, !notification.isCopy {
            log.add(outcome.result, at: verifyReceipt.clock.now, to: notification.logIndex)
        }
        let pause = notification.target.version.pause(
            after: notification.attempts, in: notification.environment, speed: notification.speed)
        defer { changes.signal() }
        state.withLock { state in
            state.inFlight -= 1
            state.counts.attempts += outcome == nil ? 0 : 1
            if notification.isCopy { return }
            if outcome?.result == .success {
                state.counts.delivered += 1
            } else if let pause, outcome?.isWorthRetrying == true {
                state.queue.add(notification, due: .now + pause)
            } else {
                state.counts.failed += 1
            }
        }
    }
}

/// The number of notifications in each state. `made` is the sum of delivered, failed, lost and waiting, not counting
/// duplicates.
package struct DeliveryCounts: Sendable, Hashable {
    /// Bodies for a target, including lost ones, without duplicates.
    package var made = 0
    package var delivered = 0
    /// No attempt succeeded, and there will be no retry.
    package var failed = 0
    /// Never sent, because the caller of `POST /events` asked for lost notifications.
    package var lost = 0
    /// Not sent yet, in flight, or waiting for a retry, including duplicates.
    package var waiting = 0
    /// Duplicates, which the caller of `POST /events` asked for.
    package var copies = 0
    package var attempts = 0

    /// The response to `GET /notifications/deliveries`.
    var document: JSONValue {
        JSONValue([
            "made": made, "delivered": delivered, "failed": failed, "lost": lost, "waiting": waiting,
            "copies": copies, "attempts": attempts,
        ])
    }
}

/// A notification in the queue for one target.
struct QueuedNotification: Sendable {
    let logIndex: Int
    /// Type of the version 1 body, or `nil` for version 2.
    let type: NotificationV1Type?
    let target: NotificationTarget
    let environment: AppStoreEnvironment
    /// Factor by which the pauses before retries are shorter than Apple's.
    let speed: Double
    let isCopy: Bool
    var attempts = 0
}

/// A queue of notifications. Retries that are due come first, those that have been due longest before others.
struct DeliveryQueue {
    /// Notifications without a due date, in the order of sending.
    private var ready: ArraySlice<QueuedNotification> = []
    /// Retries, latest due date first.
    private var later: [(due: ContinuousClock.Instant, notification: QueuedNotification)] = []

    var count: Int { ready.count + later.count }

    /// When the next retry is due, or `nil` if there is no retry.
    var due: ContinuousClock.Instant? { later.last?.due }

    mutating func add(_ notifications: [QueuedNotification]) { ready += notifications }

    /// Inserts a retry. A new one is usually due last, so its place is near the beginning.
    mutating func add(_ notification: QueuedNotification, due: ContinuousClock.Instant) {
        later.insert((due, notification), at: later.firstIndex { $0.due <= due } ?? later.endIndex)
    }

    mutating func dequeue(at now: ContinuousClock.Instant) -> QueuedNotification? {
        if let last = later.last, last.due <= now {
            later.removeLast()
            return last.notification
        }
        // A slice keeps its whole buffer, so an empty one is replaced.
        defer { if ready.isEmpty { ready = [] } }
        return ready.popFirst()
    }
}

/// Posts the bodies of notifications, over connections that it keeps.
struct NotificationSender: Sendable {
    struct AttemptResult: Sendable, Hashable {
        let result: SendAttempt.Result
        /// Whether Apple would retry. It does not if the status is neither a success nor an error.
        let isWorthRetrying: Bool
    }

    private let transport: CurlTransport

    init() throws(TransportError) {
        var configuration = CurlConfiguration(
            version: "", proxy: .direct, limits: .init(total: 256, perOrigin: 256, connectingPerOrigin: 256))
        configuration.userAgent = "App-Store/1.0"
        transport = try CurlTransport(configuration)
    }

    func deliver(_ body: [UInt8], to target: NotificationTarget) async -> AttemptResult {
        do throws(TransportError) {
            let request = try HTTPRequest(
                method: .post, url: target.url, headers: ["Content-Type": "application/json; charset=UTF-8"],
                body: body, timeout: target.timeout)
            return Self.outcome(of: try await transport.send(request).status)
        } catch {
            return AttemptResult(result: Self.result(of: error), isWorthRetrying: true)
        }
    }

    func shutDown() async { await transport.shutDown() }

    /// Success and retries by HTTP status:
    /// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    private static func outcome(of status: Int) -> AttemptResult {
        switch status {
        case 200...206: AttemptResult(result: .success, isWorthRetrying: false)
        case 400..<600: AttemptResult(result: .unsuccessfulStatus, isWorthRetrying: true)
        default: AttemptResult(result: .unsuccessfulStatus, isWorthRetrying: false)
        }
    }

    private static func result(of error: TransportError) -> SendAttempt.Result {
        switch error.code {
        case .timedOut: .timedOut
        case .protocolError: .invalidResponse
        case .connectionReset, .emptyReply, .truncated, .responseTooLarge, .cancelled, .shutDown: .prematureClose
        default: .socketIssue
        }
    }
}
