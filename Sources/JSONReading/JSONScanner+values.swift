extension JSONScanner {
    /// One member of an object.
    package struct Member: Sendable, Hashable {
        /// Before the colon.
        package let name: JSONString
        /// Behind it.
        package let value: Value
    }

    /// Where a value stands, and what it is.
    package enum Value: Sendable, Hashable {
        /// Text between quotes.
        case string(JSONString)
        /// A number, `true`, `false` or `null`, as it stands.
        case scalar(Range<Int>)
        /// An object or an array, braces or brackets included.
        case container(Range<Int>)

        /// The place, quotes included.
        package var whole: Range<Int> {
            switch self {
            case .string(let string): string.range.lowerBound - 1..<string.range.upperBound + 1
            case .scalar(let range), .container(let range): range
            }
        }
    }
}
