import ReceiptBridgeBase

/// An absolute URL that requests may be sent to: https to any host, plain http only to loopback.
///
///     scheme "://" host [":" port] ["/" path] ["?" query]
///
/// Stricter than RFC 3986, so that no two parsers can disagree about the host: printable ASCII, a lower-case scheme,
/// no user information, no fragment, no backslash. A host is a DNS name, an IPv4 address, or an IPv6 address in
/// brackets.
package struct HTTPURL: Sendable, Hashable {
    /// The whole URL as given.
    package let text: String
    /// The host in lower case. An IPv6 address has no brackets here.
    package let host: String
    /// The port. If none is written, the default of the scheme: 443 or 80.
    package let port: Int
    package let isSecure: Bool
    /// True for `localhost`, 127.0.0.0/8 and ::1. (libcurl never sends a DNS query for `localhost`.)
    package let isLoopback: Bool
    /// Host and port, as `host:port`. Connection limits count by origin.
    package let origin: String

    /// Throws `invalidURL`, or `refusedPlainHTTP` if the scheme is http and the host is not loopback.
    package init(_ text: String) throws(TransportError) {
        var remainder: Substring
        if text.hasPrefix("https://") {
            isSecure = true
            remainder = text.dropFirst(8)
        } else if text.hasPrefix("http://") {
            isSecure = false
            remainder = text.dropFirst(7)
        } else {
            throw TransportError(.invalidURL, at: "-", "the URL must begin with https:// or http://")
        }
        guard text.utf8.count <= 8192, text.utf8.allSatisfy(Self.isAllowed) else {
            throw TransportError(
                .invalidURL, at: "-", "the URL is longer than 8192 bytes or has a character that must be escaped")
        }
        let end = remainder.firstIndex { $0 == "/" || $0 == "?" } ?? remainder.endIndex
        remainder = remainder[..<end]
        let (name, digits) = Self.split(remainder)
        guard let name, let port = Self.port(digits, default: isSecure ? 443 : 80) else {
            throw TransportError(.invalidURL, at: "-", "the URL has an invalid host or port")
        }
        self.text = text
        host = name.lowercased()
        self.port = port
        isLoopback = Self.isLoopback(host)
        origin = "\(host):\(port)"
        guard isSecure || isLoopback else {
            throw TransportError(
                .refusedPlainHTTP, at: host, "plain http is allowed only to loopback addresses; use https")
        }
    }

    /// Returns whether the host is loopback without a DNS query, because a name could be resolved to any address.
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy(isDecimalByte)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\"#<>@\\^`{|}".utf8.contains(byte)
    }

    /// Leading zeros are rejected, because some resolvers read them as octal: `127.010.0.1` would be 127.8.0.1.
    private static func isDecimalByte(_ part: Substring) -> Bool {
        guard let value = UInt8(part), part.utf8.first != 0x2B else { return false }
        return String(value) == part
    }

    /// Splits `host:port`. The name is `nil` if it is invalid, the port is `nil` if none is written.
    private static func split(_ authority: Substring) -> (name: String?, port: Substring?) {
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { return (nil, nil) }
            let name = authority[authority.index(after: authority.startIndex)..<close]
            let tail = authority[authority.index(after: close)...]
            let isAddress = name.contains(":") && name.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            guard isAddress, tail.isEmpty || tail.hasPrefix(":") else { return (nil, nil) }
            return (String(name), tail.isEmpty ? nil : tail.dropFirst())
        }
        let colon = authority.firstIndex(of: ":")
        let name = authority[..<(colon ?? authority.endIndex)]
        let isName = (1...253).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte)
        return (isName ? String(name) : nil, colon.map { authority[authority.index(after: $0)...] })
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-._".utf8.contains(byte) }

    /// Parses a port from 1 to 65535; `nil` if it is invalid.
    private static func port(_ digits: Substring?, default defaultPort: Int) -> Int? {
        guard let digits else { return defaultPort }
        let isNumber = (1...5).contains(digits.utf8.count) && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, let port = Int(digits), (1...65535).contains(port) else { return nil }
        return port
    }
}
