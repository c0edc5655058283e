/// The error of bytes that are not valid JSON, or exceed the scanner's limits.
package struct JSONStructureError: Error, Hashable, CustomStringConvertible {
    /// The offset of the first byte that does not fit.
    package let offset: Int
    /// A description of what was expected at this offset, for example `a colon`.
    package let expected: String

    /// One line, for example `byte 12: expected a colon`.
    package var description: String { "byte \(offset): expected \(expected)" }
}
