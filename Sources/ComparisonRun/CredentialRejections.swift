import AppStore
import StoreTypes
import Synchronization

/// Shared secrets and keys that Apple refuses, and hosts that cannot be reached: then nothing more can be compared.
final class CredentialRejections: Sendable {
    private struct State {
        var reason: String?
        /// Refusals of a key in a row, since the last call that it was good for.
        var inARow: [BundleIdentifier: Int] = [:]
        /// Keys that were good for a call.
        var accepted: Set<BundleIdentifier> = []
    }

    /// A key that was good before is refused now and then for no reason; this often in a row it is the key.
    private static let toleratedInARow = 11

    private let state = Mutex(State())

    /// What is to be mended; nil if nothing was refused.
    var reason: String? { state.withLock { $0.reason } }

    func noteSecret(of app: BundleIdentifier) {
        state.withLock { state in
            state.reason =
                state.reason
                ?? "verifyReceipt answers 21004 for \(app.rawValue): its sharedSecret is missing, or not the one of App Store Connect"
        }
    }

    func noteUnreachable(_ service: String, _ reason: String) {
        state.withLock { $0.reason = $0.reason ?? "\(service) cannot be reached (\(reason))" }
    }

    func noteSuccess(of app: BundleIdentifier) {
        state.withLock { state in
            state.inARow[app] = nil
            state.accepted.insert(app)
        }
    }

    func noteKey(of app: BundleIdentifier, _ error: ServerAPIError) {
        state.withLock { state in
            let count = (state.inARow[app] ?? 0) + 1
            state.inARow[app] = count
            guard count > (state.accepted.contains(app) ? Self.toleratedInARow : 0) else { return }
            state.reason =
                state.reason
                ?? "the App Store refuses the key of \(app.rawValue) (\(error.reason)): check issuerId, keyId and privateKey of its serverAPI"
        }
    }
}
