/// Where bytes stop being JSON.
package struct JSONStructureError: Error, Hashable, CustomStringConvertible {
    /// The place.
    package let offset: Int
    /// What should have stood there.
    package let expected: String

    /// `byte 12: expected a colon`.
    package var description: String { "byte \(offset): expected \(expected)" }
}
