/// Where a store is, as the configuration key `store` and the arguments of commands name it:
///
///     sqlite:receipt-bridge.sqlite
///     postgresql://bridge@db-a,db-b:5433/receipts?sslmode=verify-full
///     none
package enum StoreAddress: Sendable, Hashable, CustomStringConvertible {
    case sqlite(path: String)
    case postgresql(PostgreSQLAddress)

    package static let forms = "sqlite:PATH, postgresql://USER@HOST/DATABASE, or none"

    /// Parses an address; `nil` for `none`. `resolve` makes the path of a file absolute. The reason of an error never
    /// contains the text, which may hold a password.
    package static func parse(
        _ text: String, resolve: (String) -> String = { $0 }
    ) throws(StoreAddressError) -> StoreAddress? {
        if text == "none" { return nil }
        if let path = text.dropping("sqlite:"), !path.isEmpty { return .sqlite(path: resolve(String(path))) }
        for scheme in ["postgresql://", "postgres://"] {
            if let rest = text.dropping(scheme) { return .postgresql(try PostgreSQLAddress(rest)) }
        }
        throw StoreAddressError("expected \(forms)")
    }

    /// The path of the file; `nil` if the store is not a file.
    package var path: String? {
        if case .sqlite(let path) = self { path } else { nil }
    }

    /// The path of the file, or the hosts and the database. Contains no secret.
    package var place: String { path ?? description }

    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgresql(let address): address.description
        }
    }
}

/// An address of a store that cannot be used.
package struct StoreAddressError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence that says what was expected. Never contains the text of the address.
    package let reason: String

    init(_ reason: String) { self.reason = reason }

    package var description: String { reason }
}

extension String {
    /// Returns the text after a prefix; `nil` if it does not begin with the prefix.
    fileprivate func dropping(_ prefix: String) -> Substring? { hasPrefix(prefix) ? dropFirst(prefix.count) : nil }
}
