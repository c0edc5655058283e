import Foundation
import Synchronization

/// A gate that delays replies until the test opens it.
package final class BlockingResponse: Sendable {
    private let isOpen = Mutex(false)

    package init() {}

    /// Lets all replies through, including those that wait.
    package func open() { isOpen.withLock { $0 = true } }

    /// Blocks the calling thread, but at most a minute, because a test may fail before it opens the gate.
    func wait() {
        for _ in 0..<12_000 where !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
    }
}
