/// The reason why a field table is invalid: a code, the place in the file, and a sentence.
package struct FieldTableError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable error code.
    package enum Code: String, Sendable, Hashable {
        /// The file does not exist or cannot be read.
        case unreadable
        /// The file is not JSON, or JSON of another structure.
        case malformed
        /// `model` or `place` in the header is not the value that this file must have.
        case wrongHeader
        case unknownKey, missingKey
        /// A key of the response contains other characters than a-z, 0-9, `_` and `-`.
        case badWire
        case duplicateWire, duplicateModel, duplicatePropertyListKey
        case unknownConversion, unknownModel
        /// The conversion is for values of another kind.
        case unfittingConversion
        /// A property is neither mapped nor omitted.
        case unmappedModel
    }

    /// The error code.
    package let code: Code
    /// The name of the file.
    package let file: String
    /// The row, for example `rows[3] "quantity"`, counted from 1, or `header`.
    package let row: String
    /// A sentence for people.
    package let reason: String

    /// The file, the row and the reason in one line.
    package var description: String { "\(file), \(row): \(reason)" }
}
