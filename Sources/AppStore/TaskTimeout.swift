import Synchronization

/// Waiting no longer than one may, for work that goes on all the same: others may want what it comes to, or it cannot be
/// stopped.
package enum TaskTimeout {
    /// What the work comes to; nil where that takes longer than the limit.
    package static func value<Value: Sendable>(of work: Task<Value, Never>, within limit: Duration) async -> Value? {
        guard limit > .zero else { return nil }
        return await withCheckedContinuation { continuation in
            let first = First(continuation)
            let timer = Task {
                try? await Task.sleep(for: limit)
                first.resume(nil)
            }
            Task {
                first.resume(await work.value)
                timer.cancel()
            }
        }
    }

    /// Whichever comes first counts.
    private final class First<Value: Sendable>: Sendable {
        private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

        init(_ continuation: CheckedContinuation<Value?, Never>) {
            self.continuation = Mutex(continuation)
        }

        func resume(_ value: Value?) {
            continuation.withLock { $0.take() }?.resume(returning: value)
        }
    }
}
