/// The reason why the database did not do what was asked. Programs match on `code`; the rest is for people.
package struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// libpq cannot be loaded.
        case libraryMissing
        /// libpq is older than version 14 and has no pipeline mode.
        case libraryTooOld
        /// There is no connection. Nothing was sent, and a connection is attempted in the background.
        case notConnected
        /// The server rejected the user, the password or the access to an object.
        case notPermitted
        /// The time limit was reached. Nothing was committed.
        case timedOut
        /// The connection broke, or the server did not answer in time. The statements may have been committed.
        case outcomeUnknown
        /// The server accepts no writes, for example because it is a standby.
        case readOnly
        /// The server has no disk space left.
        case full
        /// The server's limit of connections is reached, or too many calls are waiting.
        case tooManyConnections
        /// A conflict with another transaction, SQLSTATE class 40, after all repetitions.
        case conflict
        /// A unique key exists already.
        case duplicate
        /// A database, role, schema, table or column does not exist.
        case missing
        /// A statement, argument, column or setting is not valid.
        case invalid
        /// The client is closed, or the connection of a transaction is lost and its changes are rolled back.
        case closed
        /// Any other failure.
        case failed
    }

    package let code: Code
    /// The five characters of SQLSTATE if the server reported the failure.
    package let sqlState: String?
    /// A sentence for people. Contains neither values of statements nor passwords.
    package let reason: String

    package init(_ code: Code, sqlState: String? = nil, _ reason: String) {
        (self.code, self.sqlState, self.reason) = (code, sqlState, reason)
    }

    /// The error on one line. Example: `duplicate (23505): the value of a unique key exists already`.
    package var description: String { "\(code.rawValue)\(sqlState.map { " (\($0))" } ?? ""): \(reason)" }
}

extension PostgreSQLError {
    init(sqlState: String, message: String, constraint: String?) {
        let code = Code(sqlState: sqlState)
        let reason: String
        switch sqlState.prefix(2) {
        case "08", "25", "28", "3D", "3F", "40", "42", "53", "55", "57":
            // The message of these classes names objects of the database, but contains no values.
            reason = Self.line(message)
        default:
            let subject = constraint.map { " of constraint \($0)" } ?? ""
            reason =
                code == .duplicate
                ? "the value of a unique key exists already\(subject)" : "the server rejected a statement\(subject)"
        }
        self.init(code, sqlState: sqlState, reason)
    }

    /// An error of a connection attempt. libpq reports it only as text.
    init(connectionMessage message: String, password: String?) {
        var reason = Self.line(message)
        if let password, !password.isEmpty { reason = reason.replacing(password, with: "***") }
        let codes: [(part: String, code: Code)] = [
            ("authentication failed", .notPermitted), ("no pg_hba.conf entry", .notPermitted),
            ("no password supplied", .notPermitted), ("not permitted to log in", .notPermitted),
            ("permission denied for database", .notPermitted), ("too many clients", .tooManyConnections),
            ("too many connections", .tooManyConnections), ("connection slots are reserved", .tooManyConnections),
            ("session is read-only", .readOnly), ("is in hot standby mode", .readOnly),
            ("definition of service", .invalid), ("invalid connection option", .invalid), ("invalid sslmode", .invalid),
        ]
        let isMissing =
            reason.contains("does not exist")
            && (reason.contains("FATAL:  database") || reason.contains("FATAL:  role"))
        let code = codes.first { reason.contains($0.part) }?.code ?? (isMissing ? .missing : .notConnected)
        self.init(code, reason.isEmpty ? "the connection failed" : reason)
    }

    /// True if the transaction was rolled back for a reason that a repetition of the statements can avoid: a conflict,
    /// or a prepared statement that does not exist or no longer fits the tables.
    var isRepeatable: Bool { code == .conflict || sqlState == "26000" || sqlState == "0A000" }

    /// A message without line breaks and hints, at most 400 characters.
    private static func line(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" || $0 == " " } }
        return String(
            lines.filter { !$0.isEmpty && !$0.hasPrefix("Is the server") }.joined(separator: "; ").prefix(400))
    }
}

extension PostgreSQLError.Code {
    fileprivate init(sqlState: String) {
        switch sqlState {
        case "23505": self = .duplicate
        case "25006": self = .readOnly
        case "28000", "28P01", "42501": self = .notPermitted
        case "3D000", "3F000", "42P01", "42703": self = .missing
        case "53100": self = .full
        case "53300": self = .tooManyConnections
        case "25P03", "55P03", "57014": self = .timedOut
        default:
            switch sqlState.prefix(2) {
            case "08", "57": self = .outcomeUnknown
            case "0A", "22", "26", "42": self = .invalid
            case "40": self = .conflict
            default: self = .failed
            }
        }
    }
}
