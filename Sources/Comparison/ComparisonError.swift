/// Reason why a side cannot be compared: a code, a path, and a message that contains no text of the document.
package struct ComparisonError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Machine-readable reason.
    package enum Code: String, Sendable, Hashable {
        /// The document is empty or only white space.
        case empty
        /// More than ``ComparedAnswer/maximumSize`` bytes, or more JSON values than a response has.
        case tooLarge
        /// An HTML page instead of a response.
        case html
        /// Not JSON, or not a single object.
        case malformed
        /// JSON, but neither a verifyReceipt response nor a history.
        case notAnAnswer
        /// More than ``ComparedAnswer/maximumRows`` rows.
        case tooManyRows
        /// A value whose type differs from Apple's documentation.
        case badValue
        /// A row is signed, but there is no verifier.
        case signedRow
        /// A signed row whose signature is not valid.
        case notAuthentic
        /// The side is missing.
        case missing
    }

    /// Machine-readable reason.
    package let code: Code
    /// Path of the faulty value, or the name of the side. For example, `verifyReceipt.receipt.purchases`.
    package let place: String
    /// Human-readable reason.
    package let reason: String

    /// Path and reason on one line.
    package var description: String { "\(place): \(reason)" }
}
