import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization

/// The time in which this process refused notifications because the store was unavailable or this machine's clock is
/// wrong, while it is not known elsewhere. Apple sends these notifications again, but only an hour later and at most
/// five times, and those of the sandbox never.
package final class NotificationGaps: Sendable {
    private let gap = Mutex<NotificationGap?>(nil)

    package var current: NotificationGap? { gap.withLock { $0 } }

    /// - Parameter times: when a notification was refused, by this machine's clock, and also by Apple's if they differ.
    func extend(to times: [Timestamp]) {
        gap.withLock { gap in
            let times = times + (gap.map { [$0.start, $0.end] } ?? [])
            gap = times.min().flatMap { start in times.max().map { NotificationGap(from: start, to: $0) } }
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
