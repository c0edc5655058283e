import StoreTypes
import Synchronization

/// Where notifications go once they are made: into the log, and to the address that the environment has.
package final class NotificationOutbox: Sendable {
    package let targets = TargetRegistry()
    let log: NotificationLog
    let courier: DeliveryLoop
    private let speed = Mutex(1.0)

    init(log: NotificationLog, courier: DeliveryLoop) {
        self.log = log
        self.courier = courier
    }

    /// How much faster than Apple's pauses where a call does not say.
    package func setSpeed(_ speed: Double) { self.speed.withLock { $0 = speed } }

    package var counts: DeliveryCounts { courier.counts }

    /// All that some events gave, in their order.
    ///
    /// Apple's history knows what was meant for a version 2 address. Where no address was ever named, all of it counts
    /// as delivered; where one was, and not for this environment, nothing is sent and nothing recorded.
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
                drafts += NotificationV1Type.all(of: outcome).map { (first + $0.place, $0.type, target) }
            case .second:
                drafts += outcome.notifications.indices.map { (first + $0, nil, target) }
            }
        }
        let start = log.append(entries).lowerBound
        let chaos = DeliveryFaults(drafts.count, options)
        let speed = options.speed ?? speed.withLock { $0 }
        let letters = chaos.sendings.map { sending in
            let draft = drafts[sending.place]
            return QueuedNotification(
                number: start + draft.entry, type: draft.type, target: draft.target,
                environment: entries[draft.entry].notification.environment, speed: speed, isCopy: sending.isCopy)
        }
        courier.add(letters, lost: chaos.lost.count, concurrency: options.concurrency)
    }

    /// Gives the test's number in the log; nil where there is nowhere to send it.
    ///
    /// A test has version 2 even at an address that wants version 1:
    /// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
    func postTest(_ notification: SimulatedNotification) -> Int? {
        switch targets.find(notification.environment) {
        case .none: return nil
        case .neverAsked:
            let attempt = SendAttempt(date: notification.date, result: .success)
            return log.append([.init(notification: notification, isListed: false, attempts: [attempt])]).lowerBound
        case .target(let target):
            let entry = NotificationLog.Entry(notification: notification, isListed: false, attempts: [])
            let number = log.append([entry]).lowerBound
            let letter = QueuedNotification(
                number: number, type: nil, target: target, environment: notification.environment,
                speed: speed.withLock { $0 }, isCopy: false)
            courier.add([letter])
            return number
        }
    }

    private static func entry(
        _ notification: SimulatedNotification, _ finding: TargetRegistry.Finding
    ) -> NotificationLog.Entry {
        switch finding {
        case .neverAsked:
            let attempt = SendAttempt(date: notification.date, result: .success)
            return .init(notification: notification, isListed: true, attempts: [attempt])
        case .none: return .init(notification: notification, isListed: false, attempts: [])
        case .target(let target):
            return .init(notification: notification, isListed: target.version == .second, attempts: [])
        }
    }
}
