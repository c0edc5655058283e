/// The error of bytes that are not valid JSON, or exceed the scanner's limits.
package struct JSONStructureError: Error, Hashable, CustomStringConvertible {
    /// The offset of the first byte that does not fit.
    package let offset: Int
    /// A description of what was expected at this offset, for example `a colon`.
    package let expected: String

    /// What is expected beyond the maximum number of values.
    static let fewerValues = "fewer values"

    package var isTooMany: Bool { expected == Self.fewerValues }

    /// One line, for example `byte 12: expected a colon`.
    package var description: String { "byte \(offset): expected \(expected)" }
}

/// The error of a member that exists in the JSON object but has the wrong type or an unusable value.
package struct JSONFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    package let name: String
    /// The type or form that was expected, for example `a number of milliseconds`. It never contains the value.
    package let expected: String

    package init(_ name: StaticString, _ expected: String) {
        self.name = name.description
        self.expected = expected
    }

    package var description: String { "\(name): expected \(expected)" }
}
