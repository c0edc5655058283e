package import ReceiptBridgeBase
import Synchronization

/// What Apple has rejected of the configuration: a mistake of the operator, and never of the customer. Bounded by the
/// configured apps.
package final class RejectedCredentials: Sendable {
    /// A part of an app's configuration that Apple checks.
    package enum Credential: Sendable, Hashable, CaseIterable {
        /// verifyReceipt returned 21004 for the configured secret.
        case sharedSecret
        /// The App Store Server API returned 401.
        case privateKey
        /// An authentic receipt of production names another Apple ID of the app.
        case appAppleId
    }

    /// A rejection that nothing has contradicted since.
    package struct Rejection: Sendable, Hashable {
        package let bundleId: BundleIdentifier
        package let credential: Credential
        /// How often Apple has rejected it since it was last accepted.
        package let count: Int
    }

    private struct Key: Hashable {
        let bundleId: BundleIdentifier
        let credential: Credential
    }

    private let counts = Mutex<[Key: Int]>([:])

    /// Records whether Apple has accepted a credential of a configured app. Returns whether this is news.
    @discardableResult
    func record(_ credential: Credential, of bundleId: BundleIdentifier, isAccepted: Bool) -> Bool {
        let key = Key(bundleId: bundleId, credential: credential)
        return counts.withLock { counts in
            let known = counts[key]
            counts[key] = isAccepted ? nil : (known ?? 0) + 1
            return isAccepted == (known != nil)
        }
    }

    /// The rejections that hold, sorted by app.
    package var current: [Rejection] {
        counts.withLock { $0 }.map { Rejection(bundleId: $0.bundleId, credential: $0.credential, count: $1) }
            .sorted { ($0.bundleId.rawValue, "\($0.credential)") < ($1.bundleId.rawValue, "\($1.credential)") }
    }
}
