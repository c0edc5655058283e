import ReceiptBridgeBase
import Synchronization

/// An outbox for notifications: it stores them in the log and queues them for the target of their environment.
package final class NotificationOutbox: Sendable {
    struct State {
        var queue = DeliveryQueue()
        var counts = DeliveryCounts()
        var speed = 1.0
        /// Maximum of ``inFlight``, from the newest call to `POST /events`.
        var concurrency = 8
        var inFlight = 0
        /// When the next retry can be sent, or `nil` if no retry waits or too many notifications are in flight.
        var due: ContinuousClock.Instant? { inFlight < concurrency ? queue.due : nil }
    }

    package let targets = TargetRegistry()
    let log: NotificationLog
    let issuer: JWSIssuer
    let verifyReceipt: SimulatedVerifyReceipt
    let state = Mutex(State())
    let changes = AsyncSignal()

    init(log: NotificationLog, issuer: JWSIssuer, verifyReceipt: SimulatedVerifyReceipt) {
        (self.log, self.issuer, self.verifyReceipt) = (log, issuer, verifyReceipt)
    }

    /// The factor by which pauses before retries are shorter than Apple's, for calls that do not set it.
    package func setSpeed(_ speed: Double) { state.withLock { $0.speed = speed } }

    package var counts: DeliveryCounts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.queue.count + state.inFlight
            return counts
        }
    }

    /// Apple's notification history lists what was sent to a version 2 target. If no target was ever set, all
    /// notifications count as delivered. If one was set, but not for this environment, nothing is sent or listed.
    package func post(_ outcomes: [EventOutcome], _ options: DeliveryOptions = .init()) {
        var entries: [NotificationLog.Entry] = []
        var drafts: [(entry: Int, type: NotificationV1Type?, target: NotificationTarget)] = []
        for outcome in outcomes {
            guard let environment = outcome.notifications.first?.environment else { continue }
            let (first, finding) = (entries.count, targets.find(environment))
            entries += outcome.notifications.map { Self.entry($0, finding) }
            guard case .target(let target) = finding else { continue }
            switch target.version {
            case .first:
                drafts += NotificationV1Type.all(of: outcome).map { (first + $0.index, $0.type, target) }
            case .second:
                drafts += outcome.notifications.indices.map { (first + $0, nil, target) }
            }
        }
        let start = log.append(entries).lowerBound
        let faults = DeliveryFaults(drafts.count, options)
        let speed = options.speed ?? state.withLock { $0.speed }
        let queued = faults.sendings.map { sending in
            let draft = drafts[sending.position]
            return QueuedNotification(
                logIndex: start + draft.entry, type: draft.type, target: draft.target,
                environment: entries[draft.entry].notification.environment, speed: speed, isCopy: sending.isCopy)
        }
        add(queued, lost: faults.lost, concurrency: options.concurrency)
    }

    /// Queues notifications. They are sent in this order, as far as concurrent sending keeps an order.
    ///
    /// - Parameter lost: number of notifications that are only counted, not sent.
    private func add(_ notifications: [QueuedNotification], lost: Int = 0, concurrency: Int? = nil) {
        state.withLock { state in
            let copies = notifications.count(where: \.isCopy)
            state.counts.made += notifications.count - copies + lost
            state.counts.lost += lost
            state.counts.copies += copies
            if let concurrency { state.concurrency = max(concurrency, 1) }
            state.queue.add(notifications)
        }
        changes.signal()
    }

    /// Queues a test notification. Returns its index in the log, or `nil` if the environment has no target.
    ///
    /// A test notification has version 2, even if the target is for version 1:
    /// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
    func postTest(_ notification: SimulatedNotification) -> Int? {
        let finding = targets.find(notification.environment)
        if finding == .none { return nil }
        var entry = Self.entry(notification, finding)
        entry.isListed = false
        let index = log.append([entry]).lowerBound
        if case .target(let target) = finding {
            let queued = QueuedNotification(
                logIndex: index, type: nil, target: target, environment: notification.environment,
                speed: state.withLock { $0.speed }, isCopy: false)
            add([queued])
        }
        return index
    }

    private static func entry(
        _ notification: SimulatedNotification, _ finding: TargetRegistry.Finding
    ) -> NotificationLog.Entry {
        switch finding {
        case .neverSet: .delivered(notification)
        case .none: .init(notification: notification, isListed: false, attempts: [])
        case .target(let target):
            .init(notification: notification, isListed: target.version == .second, attempts: [])
        }
    }
}
