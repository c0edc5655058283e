import Synchronization

/// Renews the lease of a task while its holder works. The work asks before each step whether it may continue.
package final class LeaseRenewal: Sendable {
    private struct State {
        var lease: TaskLease?
        var renewedAt: ContinuousClock.Instant
    }

    private let store: any LeaseStore
    private let interval: Duration
    private let duration: Duration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - interval: time between two renewals, shorter than `duration`.
    ///   - duration: time until the lease expires after each renewal.
    package init(
        _ lease: TaskLease, in store: any LeaseStore, every interval: Duration, lasting duration: Duration
    ) {
        self.store = store
        self.interval = interval
        self.duration = duration
        state = Mutex(State(lease: lease, renewedAt: .now))
    }

    /// Returns whether the lease is still held, and renews it if that is due. If the store cannot be reached, the lease
    /// counts as held for half of its duration.
    package func isHeld() async -> Bool {
        let (lease, age) = state.withLock { ($0.lease, ContinuousClock.now - $0.renewedAt) }
        guard let lease else { return false }
        guard age >= interval else { return true }
        let start = ContinuousClock.now
        do throws(StorageError) {
            let renewed = try await store.renew(lease, lasting: duration)
            state.withLock { state in
                state.lease = renewed
                state.renewedAt = start
            }
            return renewed != nil
        } catch {
            return age < duration / 2
        }
    }
}
