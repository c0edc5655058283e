package import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization

/// For which time the store's notifications are complete. Records that were looked up at another time may lack what a
/// notification reported, so that a lookup is preferred to them where one is possible.
///
/// | store | what is missing |
/// |---|---|
/// | has never received a notification | nothing: it is used by the age of its records alone |
/// | received the first one at a time | everything before that time |
/// | is opened, and its newest one is older than ten seconds | what came after that, until it is fetched: it may be a backup |
package final class NotificationCoverage: Sendable {
    private struct State {
        /// When the first notification was received; `nil` without one.
        var first: Timestamp?
        /// The notifications that may be missing since the store was opened; `nil` if they were fetched.
        var gap: NotificationGap?
        /// Whether an attempt to fetch them has failed.
        var hasFailed = false
    }

    /// How old the newest notification may be without a look at the history. After a short restart Apple repeats what
    /// was refused.
    private static let restart = Duration.seconds(10)

    private let state = Mutex(State())

    /// - Parameter canFetch: whether the notification history can be read.
    func load(from store: any NotificationStore, at now: Timestamp, canFetch: Bool) async throws(StorageError) {
        guard let (oldest, newest) = try await store.arrivals() else { return }
        state.withLock { state in
            state.first = min(oldest, state.first ?? oldest)
            if canFetch, newest.duration(to: now) > Self.restart { state.gap = NotificationGap(from: newest, to: now) }
        }
    }

    /// Records that a notification has been received, by this server or by another one with the same store.
    package func recordArrival(at now: Timestamp) { state.withLock { $0.first = $0.first ?? now } }

    package var gap: NotificationGap? { state.withLock(\.gap) }

    package func close(_ gap: NotificationGap) { state.withLock { if $0.gap == gap { $0.gap = nil } } }

    /// Records that the notifications of the gap could not be fetched. They will be tried again.
    package func recordFailure() { state.withLock { $0.hasFailed = true } }

    /// While the notifications of a gap are being fetched, none of the customers that lack only them needs a lookup.
    package func lookupNeed(of apps: [BundleIdentifier], at now: Timestamp) -> LookupNeed {
        let isFetching = state.withLock { $0.gap != nil && !$0.hasFailed }
        return LookupNeed(of: apps, before: isFetching ? first : completeSince, at: now)
    }

    private var first: Timestamp? { state.withLock(\.first) }

    /// Records that were looked up before this time may lack something; `nil` if that holds for none.
    package var completeSince: Timestamp? {
        state.withLock { state in
            guard let gap = state.gap else { return state.first }
            return max(gap.end, state.first ?? gap.end)
        }
    }
}
