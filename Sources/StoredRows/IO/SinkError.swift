package import Ledger

/// Why results cannot be written: match on `code`, print the rest.
package struct SinkError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// A file that is not empty stands where a new one was to be.
        case destinationExists
        /// A name whose ending says nothing that we know.
        case unknownKind
        /// The file or its folder may not be written, or there is no such folder.
        case notWritable
        /// The disk, or what this user may use of it, is full.
        case full
        /// Somebody else holds the database.
        case locked
        /// The destination does not hold what was written to it.
        case changed
        /// Something that is none of the above.
        case failed
    }

    package let code: Code
    /// The destination, by its path.
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

extension SinkError {
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .notFound, .changed, .notADatabase, .missingTable, .missingColumn, .unusableTable: .changed
            case .notPermitted: .notWritable
            case .full: .full
            case .locked: .locked
            case .notOpen, .notDurable, .failed: .failed
            }
        self.init(code, at: error.place, error.reason)
    }

    init(_ failure: SystemFailure, at place: String) {
        let code: Code = failure.isFull ? .full : failure.isForbidden ? .notWritable : .failed
        self.init(code, at: place, failure.isNoSuchFile ? "there is no such folder" : failure.reason)
    }
}

/// Calls of the ledger, with its errors as a sink's.
package func asSinkError<Result>(_ body: () throws(StorageError) -> Result) throws(SinkError) -> Result {
    do throws(StorageError) { return try body() } catch { throw SinkError(error) }
}
