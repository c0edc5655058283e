package import StoreTypes

/// What a genuine payload must also say to be the one that was asked for.
package struct PayloadRequirements: Sendable, Hashable {
    /// The app; nil for any.
    package let bundleId: String?
    /// The app's number; nil for any. Compared where a payload names one, as Apple's own libraries do.
    package let appAppleId: Int64?
    /// The environment; nil for production and sandbox alike.
    package let environment: AppStoreEnvironment?
    /// Whether a payload must say these at all. Genuine ones without exist: transactions of 2021 name no environment,
    /// one in a million no bundle id; what came in an answer to our own question may lack them, what a client brings
    /// may not.
    package let requiresClaims: Bool

    /// Any app, production or sandbox.
    package static let any = PayloadRequirements()

    /// An expectation.
    package init(
        bundleId: String? = nil, appAppleId: Int64? = nil, environment: AppStoreEnvironment? = nil,
        requiresClaims: Bool = false
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.requiresClaims = requiresClaims
    }

    func check<Claims: SignedClaims>(_ payload: Claims) throws(SignedPayloadError) {
        switch payload.claimedEnvironment {
        case nil:
            guard !requiresClaims || environment == nil else {
                throw SignedPayloadError(.wrongEnvironment, at: "environment", "names no environment")
            }
        case "Xcode", "LocalTesting":
            throw SignedPayloadError(.xcode, at: "environment", "signed on a developer's own machine")
        case let claimed:
            guard environment == nil || claimed == environment?.rawValue else {
                throw SignedPayloadError(.wrongEnvironment, at: "environment", "belongs to another environment")
            }
        }
        if let appAppleId, let claimed = payload.claimedAppAppleId, claimed != appAppleId {
            throw SignedPayloadError(.wrongAppAppleId, at: "appAppleId", "belongs to another app")
        }
        guard let bundleId, Claims.namesApp else { return }
        switch payload.claimedBundleId {
        case nil:
            guard !requiresClaims else { throw SignedPayloadError(.wrongBundleId, at: "bundleId", "names no app") }
        case let claimed:
            guard claimed == bundleId else {
                throw SignedPayloadError(.wrongBundleId, at: "bundleId", "belongs to another app")
            }
        }
    }
}
