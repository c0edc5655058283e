import AppStoreClients
import Storage
import Synchronization

/// The apps whose calls to the App Store fail one after another, by environment. No more calls are made for such an
/// app in this run, so that an outage does not cost a timeout for each customer, and a wrong key of one app does not
/// stop the others.
final class AppFailures: Sendable {
    private struct State {
        var inARow: [AppScope: Int] = [:]
        var reasons: [AppScope: String] = [:]
    }

    /// Number of failures in a row after which an app is given up: each of the workers has then failed several times,
    /// so one customer whose records cannot be read is not the reason.
    private static let maximum = 12
    private let state = Mutex(State())

    /// Whether the app was given up.
    func includes(_ scope: AppScope) -> Bool { state.withLock { $0.reasons[scope] != nil } }

    /// Whether any app was given up.
    var isEmpty: Bool { state.withLock { $0.reasons.isEmpty } }

    /// Records an answer of the App Store.
    func succeeded(_ scope: AppScope) { state.withLock { $0.inARow[scope] = 0 } }

    /// Records a failure. Returns whether the app is given up because of it.
    func failed(_ scope: AppScope, _ error: UpstreamError) -> Bool {
        state.withLock { state in
            state.inARow[scope, default: 0] += 1
            let isFinal =
                error.code == .unauthorized || error.code == .privateKey || error.code == .budgetSpent
                || error.isUnreachable || error.isRefusal || state.inARow[scope] == Self.maximum
            guard isFinal, state.reasons[scope] == nil else { return false }
            state.reasons[scope] = "\(error)"
            return true
        }
    }
}
