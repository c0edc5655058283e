/// Why a document cannot be converted: a code, the place, and a sentence.
package struct ConversionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    package enum Code: String, Sendable, Hashable {
        /// Over ``DocumentConverter/maximumSize`` or ``DocumentConverter/maximumValues``.
        case tooLarge
        /// Not JSON, nested too deeply, or not an object.
        case malformed
        /// JSON, but neither an answer nor a camelCase document.
        case notADocument
        /// The document is already what it is to be converted to.
        case wrongDirection
        /// A value is of another type, or says something that its type cannot hold.
        case badValue
        /// `Xcode` and `LocalTesting` never had a verifyReceipt.
        case noSuchEnvironment
    }

    /// What is wrong.
    package let code: Code
    /// Where: `receipt.in_app[2].purchase_date`, counted from 0 as in JSON paths; empty for the whole document.
    package let place: String
    /// What is wrong, for people; no value is in it.
    package let reason: String

    /// One line: place, reason.
    package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}
