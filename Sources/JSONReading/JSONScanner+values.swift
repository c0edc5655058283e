extension JSONScanner {
    /// One member of an object: its name and the position of its value.
    package struct Member: Sendable, Hashable {
        /// The string before the colon.
        package let name: JSONString
        /// The value after the colon.
        package let value: Value
    }

    /// The type of a value and its byte range in the document.
    package enum Value: Sendable, Hashable {
        /// A string.
        case string(JSONString)
        /// A number, `true`, `false` or `null`, exactly as written.
        case scalar(Range<Int>)
        /// An object or an array, with its braces or brackets.
        case container(Range<Int>)

        /// The byte range of the value; of a string with its quotes.
        package var whole: Range<Int> {
            switch self {
            case .string(let string): string.range.lowerBound - 1..<string.range.upperBound + 1
            case .scalar(let range), .container(let range): range
            }
        }
    }
}
