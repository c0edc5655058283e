import Synchronization

/// Renews the lease of a task beside the work of its holder. The work asks before each step whether it may continue.
package final class LeaseRenewal: Sendable {
    private struct State {
        /// Whether no other holder is known to have claimed the task.
        var isOurs = true
        /// The begin of the last renewal that succeeded.
        var renewedAt: ContinuousClock.Instant
    }

    private let lease: TaskLease
    private let store: any LeaseStore
    private let duration: Duration
    private let patience: Duration
    private let state: Mutex<State>

    /// The lease expires `duration` after each renewal. The work waits for a store that cannot be reached for as long
    /// as `patience`. After that the lease counts as lost.
    package init(
        _ lease: TaskLease, in store: any LeaseStore, lasting duration: Duration, patience: Duration = .seconds(45)
    ) {
        (self.lease, self.store, self.duration, self.patience) = (lease, store, duration, patience)
        state = Mutex(State(renewedAt: .now))
    }

    package func run(every interval: Duration) async {
        while (try? await Task.sleep(for: interval)) != nil, await renew() != false {}
    }

    /// Returns whether the lease is still held. If it has expired because the store could not be reached, this waits
    /// until the store says whether another holder has claimed the task: the work goes on after an outage.
    package func isHeld() async -> Bool {
        while true {
            let (isOurs, age) = state.withLock { ($0.isOurs, ContinuousClock.now - $0.renewedAt) }
            guard isOurs, age >= duration else { return isOurs }
            if let isHeld = await renew() { return isHeld }
            guard age < patience, !Task.isCancelled else { return false }
            try? await Task.sleep(for: min(.seconds(1), duration / 4))
        }
    }

    /// Returns whether the lease is held; `nil` if the store cannot be reached.
    private func renew() async -> Bool? {
        let start = ContinuousClock.now
        do throws(StorageError) {
            let isOurs = try await store.renew(lease, lasting: duration) != nil
            state.withLock { state in
                state.isOurs = state.isOurs && isOurs
                state.renewedAt = max(state.renewedAt, start)
            }
            return isOurs
        } catch {
            return nil
        }
    }
}
