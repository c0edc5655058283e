/// The error of a member that exists in the JSON object but has the wrong type or an unusable value.
package struct JSONFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the member.
    package let name: String
    /// The type or form that was expected, for example `a number of milliseconds`. It never contains the value.
    package let expected: String

    init(_ name: StaticString, _ expected: String) {
        self.name = name.description
        self.expected = expected
    }

    /// One line, for example `expiresDate: expected a number of milliseconds`.
    package var description: String { "\(name): expected \(expected)" }
}
