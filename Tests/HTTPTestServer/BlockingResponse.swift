import Foundation
import Synchronization

/// Holds replies back until the test opens it.
package final class BlockingResponse: Sendable {
    private let isOpen = Mutex(false)

    package init() {}

    package func open() { isOpen.withLock { $0 = true } }

    /// Holds its thread, but not for ever: a test may fail before it opens the gate.
    func wait() {
        for _ in 0..<12_000 where !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
    }
}
