package import StoreTypes
package import Transport

/// A request as it would be sent, without its token.
package struct RequestPreview: Sendable, Hashable {
    package let method: HTTPMethod
    package let url: String
    /// JSON; empty for none.
    package let body: [UInt8]
}

extension ServerAPIClient {
    /// What a call would send; nothing is sent.
    package func preview(
        _ call: ServerAPICall, in environment: AppStoreEnvironment
    ) throws(ServerAPIError) -> RequestPreview {
        guard let base = parts.hosts[environment] else {
            throw ServerAPIError(.noEndpoint, at: "-", "nobody answers for \(environment.rawValue)")
        }
        return RequestPreview(method: call.method, url: base.text + call.target, body: call.body)
    }

    /// A notification as Apple keeps it, verified throughout, and of this app and environment.
    package func verified(
        notification text: String, in environment: AppStoreEnvironment
    ) throws(SignedPayloadError) -> VerifiedNotification {
        try parts.verifier.verifyNotification(
            text, expecting: PayloadRequirements(bundleId: bundleId, environment: environment), now: parts.clock.now())
    }
}
