/// Why a side cannot be compared: a code, the place, and a sentence without any of its text.
package struct ComparisonError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    package enum Code: String, Sendable, Hashable {
        /// Not a byte.
        case empty
        /// Over ``ComparedAnswer/maximumSize`` bytes, or more values than an answer has.
        case tooLarge
        /// A web page in place of an answer.
        case html
        /// Not JSON, or not one object.
        case malformed
        /// JSON, but neither an answer nor a history.
        case notAnAnswer
        /// Over ``ComparedAnswer/maximumRows`` rows.
        case tooManyRows
        /// A value of another type than Apple's.
        case badValue
        /// A row that is still signed, and nobody to verify it.
        case signedRow
        /// A signed row that is not what Apple signed.
        case notAuthentic
        /// There is no side at all.
        case missing
    }

    /// What is wrong.
    package let code: Code
    /// `verifyReceipt.receipt.in_app`; the name of the side where it is the whole of it.
    package let place: String
    /// What is wrong, for people.
    package let reason: String

    /// One line.
    package var description: String { "\(place): \(reason)" }
}
