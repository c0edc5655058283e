/// Why something was not done, found out here: nobody was asked.
package struct InvalidOperation: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence for people.
    package let reason: String
    /// What to do about it; nil where there is nothing to say.
    package let hint: String?

    package init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }

    package var description: String { reason }
}
