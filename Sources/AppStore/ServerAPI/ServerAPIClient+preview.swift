package import StoreTypes
package import Transport

/// A request as it would be sent, without its token.
package struct RequestPreview: Sendable, Hashable {
    package let method: HTTPMethod
    package let url: String
    /// The JSON body; empty for none.
    package let body: [UInt8]
}

extension ServerAPIClient {
    /// Returns the request for a call without sending it.
    package func preview(
        _ call: ServerAPICall, in environment: AppStoreEnvironment
    ) throws(ServerAPIError) -> RequestPreview {
        guard let base = parts.hosts[environment] else {
            throw ServerAPIError(.noEndpoint, at: "-", "no endpoint for environment \(environment.rawValue)")
        }
        return RequestPreview(method: call.method, url: base.text + call.target, body: call.body)
    }

    /// Verifies a notification from Apple's notification history. It must belong to this app and environment.
    package func verified(
        notification text: String, in environment: AppStoreEnvironment
    ) throws(SignedPayloadError) -> VerifiedNotification {
        try parts.verifier.verifyNotification(
            text, expecting: PayloadRequirements(bundleId: bundleId, environment: environment), now: parts.clock.now())
    }
}
