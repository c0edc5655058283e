/// Why a field table cannot be used: a code, the place, and a sentence.
package struct FieldTableError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    package enum Code: String, Sendable, Hashable {
        /// The file is absent or cannot be read.
        case unreadable
        /// Not JSON, or JSON of another shape.
        case malformed
        /// `model` or `place` of the header are not those of this file.
        case wrongHeader
        case unknownKey, missingKey
        /// A key of the answer that has other characters than a-z, 0-9, `_` and `-`.
        case badWire
        case duplicateWire, duplicateModel, duplicatePropertyListKey
        case unknownConversion, unknownModel
        /// The conversion is for values of another kind.
        case unfittingConversion
        /// A property that is neither mapped nor omitted.
        case unmappedModel
    }

    /// What is wrong.
    package let code: Code
    /// The file's name.
    package let file: String
    /// Where in it: `rows[3] "quantity"`, counted from 1, or `header`.
    package let row: String
    /// What is wrong, for people.
    package let reason: String

    /// One line: file, row, reason.
    package var description: String { "\(file), \(row): \(reason)" }
}
