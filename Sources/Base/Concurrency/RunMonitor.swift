import Synchronization

/// The progress of a long run, shared by its tasks and its display, and a flag to stop it.
package final class RunMonitor<Progress: Sendable>: Sendable {
    private let progress: Mutex<Progress>
    private let stopped = Atomic(false)

    /// The run has not started.
    package init(_ progress: Progress) { self.progress = Mutex(progress) }

    /// The latest progress.
    package var now: Progress { progress.withLock { $0 } }

    /// Updates the progress.
    package func change(_ body: (inout Progress) -> Void) { progress.withLock { body(&$0) } }

    /// Starts nothing new from now on. The run ends at its next checkpoint.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    /// `true` after ``stop()``, and in a canceled task.
    package var isStopped: Bool { stopped.load(ordering: .relaxed) || Task.isCancelled }
}
