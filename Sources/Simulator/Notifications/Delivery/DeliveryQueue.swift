import StoreTypes

/// A notification on its way to one address.
struct QueuedNotification: Sendable {
    /// In the log.
    let number: Int
    /// Of a version 1 body; nil for version 2.
    let type: NotificationV1Type?
    let target: NotificationTarget
    let environment: AppStoreEnvironment
    let speed: Double
    /// The second of two.
    let isCopy: Bool
    var attempts = 0
}

/// What is to be sent, and when: first those that are due longest.
struct DeliveryQueue {
    private typealias Waiting = (due: ContinuousClock.Instant, letter: QueuedNotification)

    /// Due at once, in the order of sending; those before `next` are gone.
    private var ready: [QueuedNotification] = []
    private var next = 0
    /// Latest first.
    private var later: [Waiting] = []

    var count: Int { ready.count - next + later.count }

    /// When something is due next; nil for nothing.
    var due: ContinuousClock.Instant? { later.last?.due }

    /// How many may be sent now, as far as `limit` is concerned.
    func dueCount(at now: ContinuousClock.Instant, limit: Int) -> Int {
        min(limit, ready.count - next + later.suffix(limit).count { $0.due <= now })
    }

    mutating func add(_ letters: [QueuedNotification]) { ready += letters }

    mutating func add(_ letter: QueuedNotification, due: ContinuousClock.Instant) {
        var (low, high) = (0, later.count)
        while low < high {
            let middle = (low + high) / 2
            if later[middle].due > due { low = middle + 1 } else { high = middle }
        }
        later.insert((due, letter), at: low)
    }

    mutating func dequeue(at now: ContinuousClock.Instant) -> QueuedNotification? {
        if let last = later.last, last.due <= now {
            later.removeLast()
            return last.letter
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
