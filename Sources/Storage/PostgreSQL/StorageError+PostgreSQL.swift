extension StorageError {
    init(postgreSQL error: any Error, at place: String) {
        switch error {
        case let error as StorageError: self = error
        case let error as PostgreSQLError: self.init(Self.code(of: error.code), at: place, error.reason)
        default: self.init(.failed, at: place, "\(error)")
        }
    }

    /// The code that callers match on. A database that cannot be reached is like a store that is not open: both are
    /// retried in the background.
    private static func code(of code: PostgreSQLError.Code) -> Code {
        switch code {
        case .libraryMissing, .libraryTooOld, .notConnected, .timedOut, .outcomeUnknown, .closed: .notOpen
        case .notPermitted, .readOnly: .notPermitted
        case .full: .full
        case .tooManyConnections, .conflict: .locked
        case .missing: .missingTable
        case .duplicate, .invalid, .failed: .failed
        }
    }
}
