import Synchronization

/// Waits for a task with a time limit, without canceling it. For work that other callers may also be waiting for, or
/// that cannot be stopped.
package enum TaskTimeout {
    /// Returns the value of the task, or `nil` if it takes longer than the limit. The task continues in that case.
    package static func value<Value: Sendable>(of work: Task<Value, Never>, within limit: Duration) async -> Value? {
        guard limit > .zero else { return nil }
        return await withCheckedContinuation { continuation in
            let first = SingleResume(continuation)
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

    /// Resumes a continuation once: with the value or the timeout, whichever comes first.
    private final class SingleResume<Value: Sendable>: Sendable {
        private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

        init(_ continuation: CheckedContinuation<Value?, Never>) { self.continuation = Mutex(continuation) }

        /// Resumes the continuation on the first call and does nothing on the second.
        func resume(_ value: Value?) { continuation.withLock { $0.take() }?.resume(returning: value) }
    }
}

extension Result {
    /// Runs `body` and keeps its error, for work that must close something afterwards, and for task groups, whose
    /// errors have no type.
    package init(catching body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
