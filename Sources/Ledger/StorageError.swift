import GRDB

/// Why a database was not read or written: match on `code`, print the rest.
package struct StorageError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// There is no such file.
        case notFound
        /// The file is no SQLite database, or a damaged one.
        case notADatabase
        /// There is no such table, or it is not clear which one is meant.
        case missingTable
        case missingColumn
        /// A view, or a table whose rows have no integer to go by.
        case unusableTable
        /// Somebody else holds the database, for longer than we wait.
        case locked
        /// The disk, or what this user may use of it, is full.
        case full
        /// The file, or its folder, may not be written, or not be opened.
        case notPermitted
        /// It was not opened yet; that is tried again and again.
        case notOpen
        /// Commits would not wait for the disk.
        case notDurable
        /// The database holds other rows than those that were left in it.
        case changed
        /// Something that is none of the above, in SQLite's own words.
        case failed
    }

    package let code: Code
    /// The file, and the table where it is about one.
    package let place: String
    /// A sentence for people, without anything that stands in a row.
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension StorageError {
    /// What a call of GRDB threw; SQLite's message names tables and columns, never values.
    init(_ error: any Error, at place: String) {
        if let known = error as? StorageError {
            self = known
        } else if let failure = error as? DatabaseError {
            self.init(Self.code(for: failure.resultCode), at: place, failure.message ?? "\(failure.resultCode)")
        } else {
            self.init(.failed, at: place, "\(error)")
        }
    }

    private static func code(for result: ResultCode) -> Code {
        switch result {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .locked
        case .SQLITE_FULL: .full
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .notPermitted
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: .notADatabase
        default: .failed
        }
    }
}

/// Calls of GRDB, with its errors as ours.
func asLedgerError<Result>(at place: String, _ body: () throws -> Result) throws(StorageError) -> Result {
    do {
        return try body()
    } catch {
        throw StorageError(error, at: place)
    }
}
