import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Synchronization

/// Records shared secrets and keys that Apple rejects, and hosts that cannot be reached. After any of them, no
/// further receipt can be compared.
final class CredentialRejections: Sendable {
    private struct State {
        /// The first problem that was recorded. It stays, because the run stops.
        var reason: String?
        /// Number of consecutive rejections by app. Reset by each successful call.
        var consecutiveRejections: [BundleIdentifier: Int] = [:]
        /// Apps whose key has been accepted at least once.
        var accepted: Set<BundleIdentifier> = []
    }

    private let state = Mutex(State())

    var reason: String? { state.withLock { $0.reason } }

    /// Records that Apple rejected the shared secret (status 21004).
    func recordRejectedSecret(of app: BundleIdentifier) {
        state.withLock { state in
            state.reason =
                state.reason
                ?? "Apple rejected the sharedSecret of \(app.rawValue) (21004): it is missing, or not the one in App Store Connect"
        }
    }

    func recordUnreachable(_ service: String, _ reason: String) {
        state.withLock { $0.reason = $0.reason ?? "\(service) cannot be reached (\(reason))" }
    }

    func recordSuccess(of app: BundleIdentifier) {
        state.withLock { state in
            state.consecutiveRejections[app] = nil
            state.accepted.insert(app)
        }
    }

    func recordRejectedKey(of app: BundleIdentifier, _ error: UpstreamError) {
        state.withLock { state in
            let count = (state.consecutiveRejections[app] ?? 0) + 1
            state.consecutiveRejections[app] = count
            // Apple occasionally rejects a valid key.
            guard count >= RunLimits.failuresInARow || !state.accepted.contains(app) else { return }
            state.reason =
                state.reason
                ?? "the App Store rejected the key of \(app.rawValue) (\(error.reason)): check issuerId, keyId and privateKey of its serverAPI"
        }
    }
}
