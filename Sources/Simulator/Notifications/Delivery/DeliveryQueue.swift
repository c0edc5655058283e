import Base

/// A notification in the queue for one target.
struct QueuedNotification: Sendable {
    /// Index in the notification log.
    let logIndex: Int
    /// Type of the version 1 body, or `nil` for version 2.
    let type: NotificationV1Type?
    let target: NotificationTarget
    let environment: AppStoreEnvironment
    /// Factor by which the pauses before retries are shorter than Apple's.
    let speed: Double
    /// Whether this is the second of two copies.
    let isCopy: Bool
    var attempts = 0
}

/// A queue of notifications. Retries that are due come first, those that have been due longest before others.
struct DeliveryQueue {
    private typealias Waiting = (due: ContinuousClock.Instant, notification: QueuedNotification)

    /// Notifications without a due date, in the order of sending; those before index `next` were sent.
    private var ready: [QueuedNotification] = []
    private var next = 0
    /// Retries, latest due date first.
    private var later: [Waiting] = []

    var count: Int { ready.count - next + later.count }

    /// When the next retry is due, or `nil` if there is no retry.
    var due: ContinuousClock.Instant? { later.last?.due }

    /// Returns how many notifications can be sent now, but at most `limit`.
    func dueCount(at now: ContinuousClock.Instant, limit: Int) -> Int {
        min(limit, ready.count - next + later.suffix(limit).count { $0.due <= now })
    }

    mutating func add(_ notifications: [QueuedNotification]) { ready += notifications }

    /// Inserts a retry by binary search.
    mutating func add(_ notification: QueuedNotification, due: ContinuousClock.Instant) {
        var (low, high) = (0, later.count)
        while low < high {
            let middle = (low + high) / 2
            if later[middle].due > due { low = middle + 1 } else { high = middle }
        }
        later.insert((due, notification), at: low)
    }

    /// Removes and returns the next notification that is due.
    mutating func dequeue(at now: ContinuousClock.Instant) -> QueuedNotification? {
        if let last = later.last, last.due <= now {
            later.removeLast()
            return last.notification
        }
        guard next < ready.count else { return nil }
        defer {
            next += 1
            if next > 1024, next * 2 > ready.count {
                ready.removeFirst(next)
                next = 0
            }
        }
        return ready[next]
    }
}
