/// An error that is detected before anything is sent: the input breaks one of Apple's rules or of this program's.
package struct InvalidOperation: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence for users.
    package let reason: String
    /// Recommended action; `nil` if there is none.
    package let hint: String?

    package init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }

    package var description: String { reason }
}
