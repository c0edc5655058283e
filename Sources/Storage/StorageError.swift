/// A database error: a code to match on, and a place and reason to print.
package struct StorageError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The file is damaged, or is not a SQLite database.
        case notADatabase
        /// The table does not exist, or several tables are possible and none was named.
        case missingTable
        case missingColumn
        /// The table is a view, or its rows have no integer key.
        case unusableTable
        /// Another process has locked rows or the database for longer than the timeout, too many writes are queued, or
        /// the server has no free connection.
        case locked
        /// The disk of the store, or the user's quota, is full.
        case full
        /// The file or its directory cannot be written or opened; the server refuses the user, or accepts no writes.
        case notPermitted
        /// The store is not open, or its server cannot be reached. Opening it is retried in the background.
        case notOpen
        /// Commits would not wait until the data is on disk.
        case notDurable
        /// A value differs from what was written: its type is another one, or its integrity check failed. The reason
        /// names the table and the column.
        case damaged
        /// The database differs from what was written to it: it was replaced, changed, or written by another version.
        case changed
        /// Any other error, with the engine's own message.
        case failed
    }

    package let code: Code
    /// Path of the file, or hosts and name of the database, and the table if the error concerns one. Example:
    /// `receipts.db, table results`.
    package let place: String
    /// A sentence for display. Contains no value of any row.
    package let reason: String

    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    /// The error of opening a store that an unfinished copy is being written to.
    package static func unfinishedCopy(at place: String) -> StorageError {
        StorageError(
            .changed, at: place,
            "the store holds an unfinished copy; run the same store copy command again to finish it")
    }

    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}
