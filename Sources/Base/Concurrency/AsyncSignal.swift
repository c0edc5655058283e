import Synchronization

/// A signal that wakes waiting tasks of this process.
///
/// No signal is lost between checking for work and waiting: a task reads ``signals`` before it checks, and passes
/// that number to ``wait(after:atMost:)``, which returns immediately if there was another signal since.
package final class AsyncSignal: Sendable {
    private struct State {
        var signals: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package var signals: UInt64 { state.withLock { $0.signals } }

    package func signal() {
        let waiting = state.withLock { state in
            state.signals += 1
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until the number of signals exceeds the given one, the time limit is reached, or the task is canceled.
    package func wait(after signals: UInt64, atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: limit) }
            group.addTask { await self.waitForSignal(after: signals) }
            await group.next()
            group.cancelAll()
        }
    }

    private func waitForSignal(after signals: UInt64) async {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.signals == signals, !Task.isCancelled else { return false }
                    state.waiting[waiter] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume()
        }
    }
}
