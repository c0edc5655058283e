package import Storage

/// Reason why results cannot be written. Programs match `code`; `place` and `reason` are for display.
package struct SinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Machine-readable reason.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The destination should be new, but a file that is not empty exists.
        case destinationExists
        /// The file name extension is not supported.
        case unknownKind
        /// The directory does not exist, or there is no permission to write.
        case notWritable
        /// The disk or the user's quota is full.
        case full
        /// Another process has locked the database.
        case locked
        /// The destination does not contain the data that was written to it.
        case changed
        /// Any other reason.
        case failed
    }

    /// Machine-readable reason.
    package let code: Code
    /// Path of the destination.
    package let place: String
    /// Human-readable reason, which contains no data of rows.
    package let reason: String

    /// Creates an error.
    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension SinkError {
    /// Converts an error of the progress file.
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
        self.init(code, at: place, failure.isNoSuchFile ? "there is no such directory" : failure.reason)
    }
}

/// Calls `body` and converts its error.
package func asSinkError<Result>(_ body: () throws(StorageError) -> Result) throws(SinkError) -> Result {
    do throws(StorageError) { return try body() } catch { throw SinkError(error) }
}
