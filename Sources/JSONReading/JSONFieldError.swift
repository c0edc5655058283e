/// A member that is there, but not what it should be.
package struct JSONFieldError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The member.
    package let name: String
    /// What should have stood there.
    package let expected: String

    init(_ name: StaticString, _ expected: String) {
        self.name = name.description
        self.expected = expected
    }

    /// `expiresDate: expected a number of milliseconds`.
    package var description: String { "\(name): expected \(expected)" }
}
