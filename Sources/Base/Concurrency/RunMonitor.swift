import Synchronization

/// The progress of a long run, shared by its tasks and its display, and a flag to stop it.
package final class RunMonitor<Progress: Sendable>: Sendable {
    private let progress: Mutex<Progress>
    private let stopped = Atomic(false)

    package init(_ progress: Progress) { self.progress = Mutex(progress) }

    package var now: Progress { progress.withLock { $0 } }

    package func change(_ body: (inout Progress) -> Void) { progress.withLock { body(&$0) } }

    /// Starts nothing new from now on. The run ends at its next checkpoint.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    /// `true` after ``stop()``, and in a canceled task.
    package var isStopped: Bool { stopped.load(ordering: .relaxed) || Task.isCancelled }
}
