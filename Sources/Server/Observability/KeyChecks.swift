package import ReceiptBridgeCore
import Synchronization

/// The apps whose private keys cannot sign. A check signs with every key, so warnings show the last one, and it is
/// repeated in the background at most once a minute.
package final class KeyChecks: Sendable {
    private struct State {
        var unusable: [InvalidPrivateKey] = []
        var checks = 0
        var next: ContinuousClock.Instant?
    }

    private static let interval = Duration.seconds(60)

    private let state = Mutex(State())
    private let unusableKeys: @Sendable (ProxyConfiguration) -> [InvalidPrivateKey]
    private let now: @Sendable () -> ContinuousClock.Instant

    package init(
        unusableKeys: @escaping @Sendable (ProxyConfiguration) -> [InvalidPrivateKey] = { $0.unusableKeys },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.unusableKeys = unusableKeys
        self.now = now
    }

    @discardableResult
    package func check(_ settings: ProxyConfiguration) -> [InvalidPrivateKey] {
        let number = state.withLock { state in
            state.checks += 1
            state.next = now() + Self.interval
            return state.checks
        }
        let unusable = unusableKeys(settings)
        // A check that was overtaken, for example by one of a new configuration, is ignored.
        state.withLock { if $0.checks == number { $0.unusable = unusable } }
        return unusable
    }

    /// Returns the result of the last check, and begins another one if that is old.
    package func unusable(in settings: ProxyConfiguration) -> [InvalidPrivateKey] {
        let (last, isDue) = state.withLock { state in
            let isDue = state.next.map { $0 <= now() } ?? true
            if isDue { state.next = now() + Self.interval }
            return (state.unusable, isDue)
        }
        if isDue { Task.detached(priority: .background) { self.check(settings) } }
        return last
    }
}
