package import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeStorage
import Synchronization

/// The apps whose calls to the App Store fail one after another, by environment. No more calls are made for such an
/// app for some time, so that an outage does not cost a timeout for each customer, and a wrong key of one app does not
/// stop the others.
package final class AppFailures: Sendable {
    private struct State {
        var inARow: [AppScope: Int] = [:]
        /// When calls are made again for the apps that were given up.
        var ends: [AppScope: Timestamp] = [:]
    }

    /// The pause of an app that only a person can help, and the pause in an outage of the App Store.
    static let (longPause, outagePause) = (Duration.minutes(10).atTestSpeed(), Duration.minutes(1).atTestSpeed())
    private let state = Mutex(State())

    package init() {}

    /// How long no calls are made after this error, the last of so many in a row; `nil` if they go on.
    package static func pause(after error: UpstreamError, inARow count: Int) -> Duration? {
        switch error.code {
        case .unauthorized, .privateKey: longPause
        case .budgetSpent: min(error.retryAfter ?? longPause, longPause)
        default:
            error.isUnreachable || error.isRefusal
                ? outagePause : count < RunLimits.failuresInARow ? nil : error.isTemporary ? outagePause : longPause
        }
    }

    func includes(_ scope: AppScope, at now: Timestamp) -> Bool {
        state.withLock { $0.ends[scope].map { now < $0 } ?? false }
    }

    /// When calls are made again for the first of the apps that were given up; `nil` if none was.
    var firstEnd: Timestamp? { state.withLock { $0.ends.values.min() } }

    func succeeded(_ scope: AppScope) { state.withLock { $0.inARow[scope] = 0 } }

    /// Records a failure. Returns whether the app is given up because of it.
    func failed(_ scope: AppScope, _ error: UpstreamError, at now: Timestamp) -> Bool {
        state.withLock { state in
            state.inARow[scope, default: 0] += 1
            guard let pause = Self.pause(after: error, inARow: state.inARow[scope, default: 0]) else { return false }
            let isNew = state.ends[scope].map { $0 <= now } ?? true
            if isNew { state.ends[scope] = now.advanced(by: pause) }
            return isNew
        }
    }
}
