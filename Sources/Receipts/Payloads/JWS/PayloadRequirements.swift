package import ReceiptBridgeBase

/// The claims that an authentic payload must also have to be accepted: its app and its environment.
package struct PayloadRequirements: Sendable, Hashable {
    package struct App: Sendable, Hashable {
        /// The bundle identifier; `nil` accepts any app.
        let bundleId: String?
        /// The Apple ID; `nil` accepts any. Compared only if the payload contains one, as in Apple's own libraries.
        let appAppleId: Int64?

        package init(bundleId: String? = nil, appAppleId: Int64? = nil) {
            self.bundleId = bundleId
            self.appAppleId = appAppleId
        }
    }

    let apps: [App]
    /// The accepted environments; `nil` accepts production and sandbox.
    package let environments: Set<AppStoreEnvironment>?
    /// True if the payload must contain these claims at all.
    ///
    /// Authentic payloads without them exist: transactions from 2021 have no environment, and about one in a million
    /// has no bundle identifier. Payloads in a response to our own request may lack them, payloads from a client may
    /// not.
    let requiresClaims: Bool

    /// Accepts any app, in production or sandbox.
    package static let any = PayloadRequirements()

    package init(apps: [App], environments: Set<AppStoreEnvironment>?, requiresClaims: Bool) {
        (self.apps, self.environments, self.requiresClaims) = (apps, environments, requiresClaims)
    }

    package init(
        bundleId: String? = nil, appAppleId: Int64? = nil, environment: AppStoreEnvironment? = nil,
        requiresClaims: Bool = false
    ) {
        self.init(
            apps: [App(bundleId: bundleId, appAppleId: appAppleId)], environments: environment.map { [$0] },
            requiresClaims: requiresClaims)
    }

    /// Throws `wrongEnvironment`, `unexpectedType`, `wrongBundleId`, `wrongAppAppleId` or `xcode` if the payload does
    /// not meet them.
    func check<Claims: SignedClaims>(_ payload: Claims) throws(SignedPayloadError) {
        switch payload.claimedEnvironment {
        case "Xcode", "LocalTesting":
            throw SignedPayloadError(
                .xcode, at: "environment", "signed on a developer's own machine", claimed: payload.claimedEnvironment)
        case let claimed? where ["Production", "Sandbox"].contains(claimed):
            guard environments?.contains(where: { $0.rawValue == claimed }) != false else {
                throw SignedPayloadError(
                    .wrongEnvironment, at: "environment", "belongs to another environment", claimed: claimed)
            }
        // A value that is not known says as little as an absent one.
        default:
            guard !requiresClaims || environments == nil else { throw .namesNoEnvironment }
        }
        if Claims.namesApp, requiresClaims, payload.claimedBundleId == nil, apps.allSatisfy({ $0.bundleId != nil }) {
            throw SignedPayloadError(.wrongBundleId, at: "bundleId", "contains no bundle identifier")
        }
        try check(bundleId: Claims.namesApp ? payload.claimedBundleId : nil, appAppleId: payload.claimedAppAppleId)
    }

    /// Throws `wrongBundleId` or `wrongAppAppleId` if signed data with these identifiers is of no accepted app.
    package func check(bundleId: String?, appAppleId: Int64?) throws(SignedPayloadError) {
        let named = apps.filter { bundleId == nil || $0.bundleId == nil || $0.bundleId == bundleId }
        guard !named.isEmpty else {
            throw SignedPayloadError(.wrongBundleId, at: "bundleId", "belongs to another app", claimed: bundleId)
        }
        guard let appAppleId, named.allSatisfy({ $0.appAppleId ?? appAppleId != appAppleId }) else { return }
        throw SignedPayloadError(.wrongAppAppleId, at: "appAppleId", "belongs to another app", claimed: "\(appAppleId)")
    }
}
