import ReceiptBridgeBase

package import ReceiptBridgeStorage

/// Reason why a source cannot be read, or not any further. Programs match `code`; `place` and `reason` are for
/// display.
///
/// A problem with a single row is not an error but ``StoredValue/unreadable(code:reason:)``.
package struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case notFound
        /// There is no permission, or reading failed.
        case notReadable
        case unknownKind
        /// The file is not in the format of its extension.
        case malformed
        /// A column that was selected, or the receipt column, does not exist.
        case missingColumn
        /// Several columns have the name of one that is used, or can hold the receipt.
        case ambiguousColumn
        /// The table that was selected does not exist, or there is no table.
        case missingTable
        /// A table or view without rowids, so that a run could not resume.
        case unusableTable
        /// The rows of the table cannot be read in the order of their keys.
        case damaged
        /// The compressed data is truncated or damaged.
        case truncated
        /// The source differs from the one that was read before, so the position is invalid.
        case changed
        case locked
        /// Several processes cannot share the source, because it can only be read from its beginning.
        case notSplittable
    }

    package let code: Code
    package let place: String
    /// Human-readable reason, which contains no data of rows.
    package let reason: String
    /// What helps, for example a command; `nil` if the reason says it.
    package let advice: String?

    package init(_ code: Code, at place: String, _ reason: String, advice: String? = nil) {
        self.code = code
        self.place = place
        self.reason = reason
        self.advice = advice
    }

    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension SourceError {
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .notADatabase: .malformed
            case .missingTable: .missingTable
            case .missingColumn: .missingColumn
            case .unusableTable: .unusableTable
            case .locked: .locked
            case .changed: .changed
            case .damaged: .damaged
            case .full, .notPermitted, .notOpen, .notDurable, .failed: .notReadable
            }
        self.init(code, at: error.place, error.reason)
    }

    init(_ failure: SystemFailure, at place: String) {
        self.init(failure.isNoSuchFile ? .notFound : .notReadable, at: place, failure.reason)
    }
}

func asSourceError<Result>(_ body: () throws(StorageError) -> Result) throws(SourceError) -> Result {
    do throws(StorageError) { return try body() } catch { throw SourceError(error) }
}
