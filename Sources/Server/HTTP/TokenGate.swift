import Cryptography
import HTTPTypes
import Hummingbird
import NIOCore
import Pipeline
import StoreTypes

/// Who gets to see customers: `/v1/*` holds their purchases.
///
/// | listener | tokens configured | none configured |
/// |---|---|---|
/// | public | a bearer token that is one of them | nobody |
/// | operations | such a token; without one, who comes from this machine | everybody but through a proxy |
///
/// A request with `Forwarded` or `X-Forwarded-*` comes through a proxy and therefore never from this machine, whatever
/// its connection says. Who is turned away is told that nothing is here.
struct TokenGate: Sendable {
    enum Listener: Sendable {
        case `public`, operations
    }

    let live: LiveParts
    let listener: Listener

    func admits(_ request: Request, from peer: SocketAddress?) -> Bool {
        let tokens = live.now.settings.tokens
        if let token = Self.bearerToken(of: request), Self.isKnown(token, among: tokens) { return true }
        guard listener == .operations, !Self.isForwarded(request) else { return false }
        return tokens.isEmpty || peer?.isLoopback ?? false
    }

    /// Looks at all of them: how long it takes does not tell which one it was.
    private static func isKnown(_ token: String, among tokens: [Redacted<String>]) -> Bool {
        tokens.reduce(false) { found, known in ConstantTime.equal(known.reveal(), token) || found }
    }

    /// RFC 6750, 2.1; nil as well where several are sent.
    private static func bearerToken(of request: Request) -> String? {
        let values = request.headers[values: .authorization]
        guard values.count == 1, let value = values.first, value.prefix(7).lowercased() == "bearer " else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    private static func isForwarded(_ request: Request) -> Bool {
        request.headers.contains { field in
            let name = field.name.canonicalName
            return name == "forwarded" || name.hasPrefix("x-forwarded-")
        }
    }
}

extension SocketAddress {
    /// Also where IPv4 comes inside of IPv6; a socket in the file system is on this machine too.
    fileprivate var isLoopback: Bool {
        if case .unixDomainSocket = self { return true }
        guard let text = ipAddress?.lowercased() else { return false }
        let address = text.hasPrefix("::ffff:") ? String(text.dropFirst(7)) : text
        return Settings.Address(host: address, port: 0).isLoopback
    }
}
