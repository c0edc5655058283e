import ReceiptBridgeBase

extension PostgreSQLAddress {
    private static let passwordReason =
        "the address contains a password; remove it and name a file in database.password instead"
    private static let weakModes = ["disable", "allow", "prefer"]

    /// Parses the text after `postgresql://`.
    init(_ text: Substring) throws(StoreAddressError) {
        let query = text.firstIndex(of: "?")
        let location = text[..<(query ?? text.endIndex)]
        let slash = location.firstIndex(of: "/")
        let authority = location[..<(slash ?? location.endIndex)]
        guard let at = authority.lastIndex(of: "@"), at > authority.startIndex else {
            throw StoreAddressError("the address names no user, for example postgresql://bridge@db/receipts")
        }
        guard !authority[..<at].contains(":") else { throw StoreAddressError(Self.passwordReason) }
        let database = slash.map { location[location.index(after: $0)...] } ?? ""
        guard !database.isEmpty else {
            throw StoreAddressError("the address names no database, for example postgresql://bridge@db/receipts")
        }
        user = try Self.decoded(authority[..<at])
        hosts = try Self.hosts(authority[authority.index(after: at)...])
        self.database = try Self.decoded(database)
        options =
            try query.map { index throws(StoreAddressError) in
                try Self.options(text[text.index(after: index)...])
            } ?? [:]
        if !isLocal, Self.weakModes.contains(tlsMode) {
            throw StoreAddressError(
                "sslmode: \(tlsMode) does not protect a connection to another machine; use verify-full or require")
        }
    }

    /// Parses `HOST[:PORT],…`.
    private static func hosts(_ text: Substring) throws(StoreAddressError) -> [Host] {
        var hosts: [Host] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let end: Substring.Index
            if part.hasPrefix("[") {
                guard let bracket = part.firstIndex(of: "]") else {
                    throw StoreAddressError("an IPv6 address has no closing bracket")
                }
                end = part.index(after: bracket)
            } else {
                end = part.firstIndex(of: ":") ?? part.endIndex
            }
            let name = try decoded(part.hasPrefix("[") ? part[..<end].dropFirst().dropLast() : part[..<end])
            guard !name.isEmpty, !name.contains(",") else {
                throw StoreAddressError("a host is missing, for example postgresql://bridge@db/receipts")
            }
            hosts.append(Host(name: name, port: try port(part[end...])))
        }
        return hosts
    }

    /// Parses `:PORT`, or an empty text.
    private static func port(_ text: Substring) throws(StoreAddressError) -> UInt16 {
        guard !text.isEmpty else { return Host.defaultPort }
        guard text.hasPrefix(":"), let port = UInt16(text.dropFirst()), port > 0 else {
            throw StoreAddressError("a port is not a number from 1 to 65535; an IPv6 address needs brackets")
        }
        return port
    }

    /// Parses `KEY=VALUE&…`.
    private static func options(_ text: Substring) throws(StoreAddressError) -> [PostgreSQLOption: String] {
        var options: [PostgreSQLOption: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = try decoded(parts[0])
            guard !["password", "sslpassword", "passfile"].contains(name.lowercased()) else {
                throw StoreAddressError(passwordReason)
            }
            guard let option = PostgreSQLOption(rawValue: name) else {
                // The name is not shown: after a misplaced ? it could be a part of a password.
                throw StoreAddressError("a key after ? is unknown; known are \(PostgreSQLOption.names)")
            }
            guard parts.count == 2, options[option] == nil else {
                throw StoreAddressError("\(option.rawValue): expected one value")
            }
            let value = try decoded(parts[1])
            try option.check(value)
            options[option] = value
        }
        return options
    }

    private static func decoded(_ text: Substring) throws(StoreAddressError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value(of:)),
                let low = rest.popFirst().flatMap(Hexadecimal.value(of:)), high | low != 0
            else { throw StoreAddressError("a percent sign is not followed by two hexadecimal digits of a byte") }
            bytes.append(high << 4 | low)
        }
        guard let result = String(validating: bytes, as: UTF8.self) else {
            throw StoreAddressError("the percent-encoded bytes are not UTF-8")
        }
        return result
    }
}
