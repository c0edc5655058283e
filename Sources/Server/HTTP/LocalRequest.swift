import ReceiptBridgeCore
import HTTPTypes
import Hummingbird
import NIOCore

/// A request from a user or program on this machine, which needs no token.
///
/// A loopback connection alone does not prove that. A reverse proxy on this machine connects from loopback on behalf
/// of the whole world, and a browser on this machine (or at the other end of `ssh -L`) sends requests that a web page
/// triggers. So all of these conditions must hold:
///
/// - the peer's address is loopback;
/// - no header says that the request was forwarded;
/// - `Host` is an IP address, `localhost` or the host name in `operations.listen`. A page whose own name resolves to
///   127.0.0.1 (DNS rebinding) sends that name;
/// - no browser header says that a page of another origin sent the request.
enum LocalRequest {
    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - name: The host of `operations.listen`.
    static func isLocal(_ request: Request, from peer: SocketAddress?, listeningAt name: String) -> Bool {
        guard peer?.isLoopback ?? false, !isForwarded(request), let host = request.head.authority else { return false }
        return isTrusted(host: host, listeningAt: name) && request.isFromSameOrigin("http")
    }

    /// Names in lower case. Any of these headers means that a proxy sent the request, whatever its value is.
    private static let forwardingHeaders: Set<String> = [
        "forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-forwarded-for",
        "cf-connecting-ip", "true-client-ip", "fastly-client-ip",
    ]

    private static func isForwarded(_ request: Request) -> Bool {
        request.headers.contains { field in
            let name = field.name.canonicalName
            return forwardingHeaders.contains(name) || name.hasPrefix("x-forwarded-")
        }
    }

    /// A name that only this machine's users can have addressed. An IP address cannot be rebound by DNS.
    private static func isTrusted(host: String, listeningAt name: String) -> Bool {
        guard let host = hostName(of: host)?.lowercased() else { return false }
        return host == "localhost" || host == name.lowercased() || AddressRange.Address(host) != nil
    }

    /// Without port and brackets: of `a.example`, `a.example:8081`, `127.0.0.1:8081` and `[::1]:8081`, for example.
    private static func hostName(of authority: String) -> Substring? {
        let name: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            name = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
            guard name.contains(":") else { return nil }
        } else {
            name = authority.prefix { $0 != ":" }
            rest = authority[name.endIndex...]
        }
        let port = rest.dropFirst()
        let hasPort = rest.first == ":" && port.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return rest.isEmpty || hasPort ? name : nil
    }
}

extension Request {
    /// Whether no page of another origin sent the request. Browsers send `Origin` with all requests except simple ones,
    /// and most send `Sec-Fetch-Site`, to loopback all. `Sec-Fetch-Site: none` means an address that the user typed, or
    /// a bookmark. A client that sends neither is no browser.
    func isFromSameOrigin(_ schemes: String...) -> Bool {
        let host = head.authority?.lowercased() ?? ""
        return headers[values: .origin].allSatisfy { schemes.map { "\($0)://\(host)" }.contains($0.lowercased()) }
            && headers[values: .secFetchSite].allSatisfy { $0 == "same-origin" || $0 == "none" }
    }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name.literal("Sec-Fetch-Site")
}

extension SocketAddress {
    /// IPv4 addresses mapped into IPv6 are included. A Unix domain socket is on this machine, too.
    fileprivate var isLoopback: Bool {
        if case .unixDomainSocket = self { return true }
        guard let text = ipAddress?.lowercased() else { return false }
        let address = text.hasPrefix("::ffff:") ? String(text.dropFirst(7)) : text
        return ProxyConfiguration.Address(host: address, port: 0).isLoopback
    }
}
