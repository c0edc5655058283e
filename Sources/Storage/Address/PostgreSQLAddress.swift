/// The address of a PostgreSQL database, without a password. The grammar is that of libpq's connection URIs:
///
///     postgresql://USER@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?KEY=VALUE[&KEY=VALUE…]]
///
/// User, hosts, database and values can be percent-encoded. An IPv6 address is in brackets, and a host that begins with
/// `/` is the directory of a Unix socket, for example `%2Frun%2Fpostgresql`.
package struct PostgreSQLAddress: Sendable, Hashable, CustomStringConvertible {
    /// One of the servers. They are tried in order.
    package struct Host: Sendable, Hashable, CustomStringConvertible {
        /// A host name, an IP address, or the directory of a Unix socket.
        package let name: String
        package let port: UInt16

        package static let defaultPort: UInt16 = 5432

        /// Whether the server is on this machine: a Unix socket, `localhost`, 127.0.0.0/8 or ::1.
        package var isLocal: Bool {
            if name.hasPrefix("/") || name.lowercased() == "localhost" || name == "::1" { return true }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }

        package var description: String {
            (name.contains(":") ? "[\(name)]" : name) + (port == Self.defaultPort ? "" : ":\(port)")
        }
    }

    package let user: String
    /// Not empty.
    package let hosts: [Host]
    package let database: String
    let options: [PostgreSQLOption: String]

    /// Whether all hosts are on this machine, so that connections need no TLS.
    package var isLocal: Bool { hosts.allSatisfy(\.isLocal) }

    /// The value of `sslmode`. The default is `verify-full`, and `prefer` if all hosts are on this machine.
    package var tlsMode: String { options[.sslmode] ?? (isLocal ? "prefer" : "verify-full") }

    /// Whether a program that listens in place of the server could ask for a password and get it: connections are
    /// neither through a Unix socket nor to a verified certificate, and no method of authentication is required.
    package var canRevealPassword: Bool {
        !tlsMode.hasPrefix("verify-") && options[.requiredAuthentication] == nil
            && !hosts.allSatisfy { $0.name.hasPrefix("/") }
    }

    /// The keywords and values for libpq. Versions before 16 know neither `sslrootcert=system` nor `require_auth`. They
    /// get the path of Debian's list of roots, and send a password by whatever method the server asks for.
    package func parameters(isLibrary16: Bool, hasPassword: Bool) -> [(keyword: String, value: String)] {
        var values = options
        values[.sslmode] = tlsMode
        values[.targetSessionAttributes] = options[.targetSessionAttributes] ?? "read-write"
        if tlsMode.hasPrefix("verify-"), options[.sslrootcert] == nil {
            // libpq accepts `system` with verify-full only.
            values[.sslrootcert] =
                isLibrary16 && tlsMode == "verify-full" ? "system" : "/etc/ssl/certs/ca-certificates.crt"
        }
        // SCRAM reveals nothing of the password, and proves that the server knows it too.
        if isLibrary16, hasPassword, canRevealPassword { values[.requiredAuthentication] = "scram-sha-256" }
        return [
            ("host", hosts.map(\.name).joined(separator: ",")),
            ("port", hosts.map { "\($0.port)" }.joined(separator: ",")), ("user", user), ("dbname", database),
        ] + PostgreSQLOption.allCases.compactMap { option in values[option].map { (option.rawValue, $0) } }
    }

    package var description: String {
        "postgresql://\(user)@\(hosts.map(\.description).joined(separator: ","))/\(database)"
    }
}

/// The keys of a PostgreSQL address. Their names are the keywords of libpq.
enum PostgreSQLOption: String, Sendable, CaseIterable {
    case sslmode, sslrootcert, sslcert, sslkey
    case connectTimeout = "connect_timeout"
    case targetSessionAttributes = "target_session_attrs"
    case applicationName = "application_name"
    case options
    case tcpUserTimeout = "tcp_user_timeout"
    case keepalives
    case keepalivesIdle = "keepalives_idle"
    case keepalivesInterval = "keepalives_interval"
    case keepalivesCount = "keepalives_count"
    case channelBinding = "channel_binding"
    case requiredAuthentication = "require_auth"

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// The accepted values in words, and whether a value is one of them; `nil` if every text is accepted.
    private var accepted: (values: String, contains: (String) -> Bool)? {
        let choices: [String]
        switch self {
        case .sslmode: choices = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
        case .targetSessionAttributes:
            choices = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"]
        case .channelBinding: choices = ["disable", "prefer", "require"]
        case .connectTimeout, .tcpUserTimeout, .keepalives, .keepalivesIdle, .keepalivesInterval, .keepalivesCount:
            return ("a whole number", { UInt32($0) != nil })
        case .sslrootcert, .sslcert, .sslkey, .applicationName, .options, .requiredAuthentication: return nil
        }
        return ("one of \(choices.joined(separator: ", "))", choices.contains)
    }

    func check(_ value: String) throws(StoreAddressError) {
        guard let accepted, !accepted.contains(value) else { return }
        throw StoreAddressError("\(rawValue): expected \(accepted.values)")
    }
}
