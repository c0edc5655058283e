package import Base

/// The claims that an authentic payload must also have to be accepted: its app and its environment.
package struct PayloadRequirements: Sendable, Hashable {
    /// The required bundle identifier; `nil` accepts any app.
    package let bundleId: String?
    /// The required Apple ID of the app; `nil` accepts any. Compared only if the payload contains one, as in Apple's
    /// own libraries.
    package let appAppleId: Int64?
    /// The required environment; `nil` accepts production and sandbox.
    package let environment: AppStoreEnvironment?
    /// True if the payload must contain these claims at all.
    ///
    /// Authentic payloads without them exist: transactions from 2021 have no environment, and about one in a million
    /// has no bundle identifier. Payloads in a response to our own request may lack them, payloads from a client may
    /// not.
    package let requiresClaims: Bool

    /// Accepts any app, in production or sandbox.
    package static let any = PayloadRequirements()

    /// Creates requirements.
    package init(
        bundleId: String? = nil, appAppleId: Int64? = nil, environment: AppStoreEnvironment? = nil,
        requiresClaims: Bool = false
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.requiresClaims = requiresClaims
    }

    /// Throws `wrongEnvironment`, `unexpectedType`, `wrongBundleId`, `wrongAppAppleId` or `xcode` if the payload does
    /// not meet them.
    func check<Claims: SignedClaims>(_ payload: Claims) throws(SignedPayloadError) {
        switch payload.claimedEnvironment {
        case "Xcode", "LocalTesting":
            throw SignedPayloadError(
                .xcode, at: "environment", "signed on a developer's own machine", claimed: payload.claimedEnvironment)
        case let claimed? where ["Production", "Sandbox"].contains(claimed):
            guard environment == nil || claimed == environment?.rawValue else {
                throw SignedPayloadError(
                    .wrongEnvironment, at: "environment", "belongs to another environment", claimed: claimed)
            }
        // A value that is not known says as little as an absent one.
        default:
            guard !requiresClaims || environment == nil else { throw .namesNoEnvironment }
        }
        if let appAppleId, let claimed = payload.claimedAppAppleId, claimed != appAppleId {
            throw SignedPayloadError(
                .wrongAppAppleId, at: "appAppleId", "belongs to another app", claimed: "\(claimed)")
        }
        guard let bundleId, Claims.namesApp else { return }
        switch payload.claimedBundleId {
        case nil:
            guard !requiresClaims else {
                throw SignedPayloadError(.wrongBundleId, at: "bundleId", "contains no bundle identifier")
            }
        case let claimed:
            guard claimed == bundleId else {
                throw SignedPayloadError(.wrongBundleId, at: "bundleId", "belongs to another app", claimed: claimed)
            }
        }
    }
}
