/// The reason why a document cannot be converted: a code, the place in the document, and a sentence.
package struct ConversionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code.
    package enum Code: String, Sendable, Hashable {
        /// The document exceeds ``DocumentConverter/maximumSize`` or ``DocumentConverter/maximumValues``.
        case tooLarge
        /// The document is not JSON, is nested too deeply, or is not an object.
        case malformed
        /// The document is a JSON object but neither a verifyReceipt response nor a camelCase document.
        case notADocument
        /// The document already has the requested style.
        case wrongDirection
        /// A value has the wrong type, or does not fit into the type, for example a date that cannot be parsed.
        case badValue
        /// The environment is `Xcode` or `LocalTesting`, for which verifyReceipt never existed.
        case noSuchEnvironment
    }

    /// The error code.
    package let code: Code
    /// The path of the value, for example `receipt.in_app[2].purchase_date`, with indices from 0; empty for the whole
    /// document.
    package let place: String
    /// A sentence for people. It never contains a value of the document.
    package let reason: String

    /// The place and the reason in one line.
    package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}
