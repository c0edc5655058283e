package import Ledger

/// Why a source cannot be read, or not further: match on `code`, print the rest.
///
/// What is wrong with a single row is no error but ``StoredValue/unreadable(code:reason:)``.
package struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// There is no such file.
        case notFound
        /// It may not be opened, or reading failed.
        case notReadable
        /// A name whose ending says nothing that we know.
        case unknownKind
        /// Not in the format that its name promises.
        case malformed
        case missingColumn
        case missingTable
        /// A table or view whose rows have no number to go on from.
        case unusableTable
        /// The compressed data ends early or is damaged.
        case truncated
        /// Not what was read before; the position means nothing in it.
        case changed
        /// Somebody else holds the database.
        case locked
    }

    package let code: Code
    /// The source, by its path.
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

extension SourceError {
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .notFound: .notFound
            case .notADatabase: .malformed
            case .missingTable: .missingTable
            case .missingColumn: .missingColumn
            case .unusableTable: .unusableTable
            case .locked: .locked
            case .changed: .changed
            case .full, .notPermitted, .notOpen, .notDurable, .failed: .notReadable
            }
        self.init(code, at: error.place, error.reason)
    }

    /// What the last system call left in `errno`.
    init(_ failure: SystemFailure, at place: String) {
        self.init(failure.isNoSuchFile ? .notFound : .notReadable, at: place, failure.reason)
    }
}

/// Calls of the ledger, with its errors as a source's.
package func asSourceError<Result>(_ body: () throws(StorageError) -> Result) throws(SourceError) -> Result {
    do throws(StorageError) { return try body() } catch { throw SourceError(error) }
}
