/// An error that is detected before anything is sent: the input breaks one of Apple's rules or of this program's.
package struct InvalidOperation: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// A value has the wrong form, is out of range or contradicts another one.
        case input
        /// The customer's consent is missing.
        case consent
        /// Apple does not wait any longer.
        case deadline
    }

    package let reason: String
    package let hint: String?
    package let kind: Kind

    package init(_ reason: String, hint: String? = nil, kind: Kind = .input) {
        self.reason = reason
        self.hint = hint
        self.kind = kind
    }

    package var description: String { reason }
}
