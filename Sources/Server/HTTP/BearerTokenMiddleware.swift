import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import HTTPTypes
import Hummingbird
import NIOCore

/// Authorizes access to routes that expose customers' purchases or internal state: `/v1/*`, `/metrics`, `/`,
/// `/comparisons`, `/customers`.
///
/// | listener | with a configured token | without a token |
/// |---|---|---|
/// | public | allowed | refused |
/// | operations | allowed | allowed only for a ``LocalRequest`` |
///
/// A refused request gets 404, as if the route did not exist. An unknown bearer token gets 401 on `/v1/*`.
struct BearerTokenMiddleware: Sendable {
    enum Listener: Sendable {
        case `public`, operations
    }

    let live: ReloadableState
    let listener: Listener

    func allows(_ request: Request, _ context: ProxyRequestContext) -> Bool {
        let settings = live.now.settings
        if let token = Self.bearerToken(of: request), Self.isKnown(token, among: settings.tokens) { return true }
        return listener == .operations
            && LocalRequest.isLocal(
                request, from: context.channel.remoteAddress, listeningAt: settings.operationsListen.host)
    }

    /// Returns the error response if the request may not use `/v1/*`; `nil` if it may.
    func refusal(of request: Request, _ context: ProxyRequestContext) -> Response? {
        let tokens = live.now.settings.tokens
        if !tokens.isEmpty, let token = Self.bearerToken(of: request), !Self.isKnown(token, among: tokens) {
            var response = ProblemDetails.wrongToken.response
            response.headers[.wwwAuthenticate] = "Bearer"
            return response
        }
        return allows(request, context) ? nil : ProblemDetails.notFound.response
    }

    /// Compares with every token, because the response time would reveal the position of the first match.
    private static func isKnown(_ token: String, among tokens: [Redacted<String>]) -> Bool {
        tokens.reduce(false) { found, candidate in ConstantTime.equal(candidate.reveal(), token) || found }
    }

    /// The `Authorization` header of RFC 6750, section 2.1; `nil` if there is none or several are sent.
    private static func bearerToken(of request: Request) -> String? {
        let values = request.headers[values: .authorization]
        guard values.count == 1, let value = values.first, value.prefix(7).lowercased() == "bearer " else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }
}
