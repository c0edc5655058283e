import Base
import Synchronization

/// An outbox for notifications: it stores them in the log and queues them for the target of their environment.
package final class NotificationOutbox: Sendable {
    package let targets = TargetRegistry()
    let deliveryLoop: DeliveryLoop
    var log: NotificationLog { deliveryLoop.log }
    private let speed = Mutex(1.0)

    init(_ deliveryLoop: DeliveryLoop) {
        self.deliveryLoop = deliveryLoop
    }

    /// Sets the factor by which pauses before retries are shorter than Apple's, for calls that do not set it
    /// themselves.
    package func setSpeed(_ speed: Double) { self.speed.withLock { $0 = speed } }

    package var counts: DeliveryCounts { deliveryLoop.counts }

    /// Stores and queues the notifications about events, in order.
    ///
    /// Apple's notification history lists what was sent to a version 2 target. If no target was ever set, all
    /// notifications count as delivered. If a target was set, but not for this environment, nothing is sent and
    /// nothing is listed.
    func post(_ outcomes: [EventOutcome], _ options: DeliveryOptions = .init()) {
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
        let speed = options.speed ?? speed.withLock { $0 }
        let queued = faults.sendings.map { sending in
            let draft = drafts[sending.position]
            return QueuedNotification(
                logIndex: start + draft.entry, type: draft.type, target: draft.target,
                environment: entries[draft.entry].notification.environment, speed: speed, isCopy: sending.isCopy)
        }
        deliveryLoop.add(queued, lost: faults.lost.count, concurrency: options.concurrency)
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
                speed: speed.withLock { $0 }, isCopy: false)
            deliveryLoop.add([queued])
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
