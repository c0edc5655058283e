import Base
package import Storage
import Synchronization

/// The time in which this process refused notifications because the store was unavailable, while it is not known
/// elsewhere. Apple sends these notifications again, but only an hour later and at most five times.
package final class NotificationGaps: Sendable {
    private let gap = Mutex<NotificationGap?>(nil)

    package init() {}

    /// The gap; `nil` if no notification was refused.
    package var current: NotificationGap? { gap.withLock { $0 } }

    /// Records that a notification was refused.
    func extend(to now: Timestamp) {
        gap.withLock { gap in
            gap = NotificationGap(from: min(gap?.start ?? now, now), to: max(gap?.end ?? now, now))
        }
    }

    /// Removes a gap, but not what was added since it was read.
    func remove(_ known: NotificationGap) {
        gap.withLock { gap in
            guard let current = gap, current.start >= known.start else { return }
            gap = current.end > known.end ? NotificationGap(from: known.end, to: current.end) : nil
        }
    }
}
