/// An error of a PostgreSQL operation: a code to match on, and a reason to print.
package struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The library cannot be loaded.
        case libraryMissing
        /// The library is older than version 14.
        case libraryTooOld
        /// There is no connection. A new one is attempted in the background.
        case notConnected
        /// The server refused the user, the password, the database or an object.
        case notPermitted
        /// The statement took longer than its limit. Nothing of it was committed.
        case timedOut
        /// The connection was lost before the outcome was known: the batch may have been committed.
        case outcomeUnknown
        /// The server accepts no writes, for example because it is a standby.
        case readOnly
        /// The disk of the server is full.
        case full
        /// The server has no free connection.
        case tooManyConnections
        /// A deadlock or serialization failure, after all repetitions.
        case conflict
        /// A row with the same key exists.
        case duplicate
        /// A database, schema, table or column does not exist.
        case missing
        /// A value that PostgreSQL cannot hold, or a column of an unexpected type.
        case invalid
        /// The client was closed.
        case closed
        /// Any other error.
        case failed
    }

    package let code: Code
    /// The SQLSTATE of the server, for example `23505`; `nil` for errors of the client.
    package let sqlState: String?
    /// A sentence for display. Contains neither values nor passwords.
    package let reason: String

    package init(_ code: Code, sqlState: String? = nil, _ reason: String) {
        self.code = code
        self.sqlState = sqlState
        self.reason = reason
    }

    package var description: String { "\(code.rawValue): \(reason)" }

    /// The error of a SQLSTATE.
    init(sqlState: String, message: String) {
        let code: Code =
            switch sqlState {
            case "25006": .readOnly
            case "53100": .full
            case "53300": .tooManyConnections
            case "23505": .duplicate
            case "57014": .timedOut
            case "55P03": .timedOut
            case "42501", "28000", "28P01": .notPermitted
            case "42P01", "42703", "3D000", "3F000": .missing
            case "57P01", "57P02", "57P03": .notConnected
            default:
                switch sqlState.prefix(2) {
                case "40": .conflict
                case "08": .notConnected
                case "22": .invalid
                default: .failed
                }
            }
        self.init(code, sqlState: sqlState, message)
    }
}
