/// An HTTP URL of this machine, for example `http://127.0.0.1:8080/path?query`.
///
/// Notifications of a simulator look like Apple's but are not signed by Apple, so they must never reach another
/// machine.
package struct LoopbackURL: Sendable, Hashable {
    package let text: String
    /// Host without brackets: `127.0.0.1` or another address of 127.0.0.0/8, `localhost` or `::1`.
    let host: String
    let port: Int
    /// Path and query.
    let path: String

    /// Value of the `Host` header.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Returns `nil` if the text is not a URL of unencrypted HTTP to the loopback interface.
    package init?(_ text: String) {
        guard text.hasPrefix("http://"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        let rest = text.dropFirst(7)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let (host, port) = Self.split(rest[..<end]), Self.isLoopback(host) else { return nil }
        let path = rest[end...].prefix { $0 != "#" }
        self.text = text
        self.host = host
        self.port = port
        self.path = path.hasPrefix("/") ? String(path) : "/\(path)"
    }

    private static func split(_ authority: Substring) -> (host: String, port: Int)? {
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            let host = authority[authority.index(after: authority.startIndex)..<bracket]
            return port(authority[authority.index(after: bracket)...]).map { (String(host), $0) }
        }
        let colon = authority.firstIndex(of: ":") ?? authority.endIndex
        return port(authority[colon...]).map { (authority[..<colon].lowercased(), $0) }
    }

    /// Returns the port after the colon, 80 if there is none, or `nil` if it is not valid.
    private static func port(_ text: Substring) -> Int? {
        if text.isEmpty { return 80 }
        guard text.hasPrefix(":"), let port = UInt16(text.dropFirst()), port > 0 else { return nil }
        return Int(port)
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts[0] == 127 && !parts.contains(nil)
    }
}
