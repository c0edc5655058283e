/// Recovery from stray quotes. If a quote makes a record too long, or malformed in a later line, the record ends at
/// the first line break at which it has as many fields as the header. The following lines are then parsed as records.
extension CSVSource {
    /// Number of line breaks in one record, each counted once.
    struct CountedLines: Sendable {
        var count = 0
        /// Offset up to which line breaks have been counted.
        var end = 0
        /// `true` if the record exceeds a limit and contains no line break at which it could end.
        var isHopeless = false
    }

    /// Ends the record in the window early if necessary. A long record that is closed correctly and is within the
    /// limits is not changed.
    mutating func endsEarly(isWhole: Bool) -> Bool {
        guard text.long == nil, !lines.isHopeless else { return false }
        let length = isWhole ? scanner.position : text.window.count
        if let limit = limit(of: length) { return endsEarly(at: limit) }
        let bytes = text.window.bytes
        let record = bytes.span.extracting(text.window.range).extracting(0..<length)
        if scanner.isBroken, isWhole || text.window.isAtEnd {
            return scanner.endEarly(
                record, expectedFields: header.count, before: isWhole ? length - 1 : length)
        }
        return text.window.isAtEnd && !isWhole && endsEarly(inLast: record)
    }

    /// Returns the offset at which a record of this length exceeds a limit; `nil` if it does not. The result does not
    /// depend on how much of the record is in the window.
    private mutating func limit(of length: Int) -> Int? {
        guard length > min(limits.row, limits.quotedLines) else { return nil }
        let bytes = text.window.bytes
        let record = bytes.span.extracting(text.window.range)
        let end = min(length, limits.row)
        while lines.count < limits.quotedLines {
            guard let found = record.firstIndex(of: UInt8(ascii: "\n"), from: lines.end, to: end) else {
                lines.end = end
                break
            }
            (lines.count, lines.end) = (lines.count + 1, found + 1)
        }
        if lines.count == limits.quotedLines, lines.end < length { return lines.end }
        return length > limits.row ? limits.row : nil
    }

    /// Ends the record before a limit. If that is not possible, it stays as it is and is marked hopeless.
    private mutating func endsEarly(at limit: Int) -> Bool {
        let bytes = text.window.bytes
        let record = bytes.span.extracting(text.window.range).extracting(0..<limit)
        let before = scanner
        scanner.reset()
        _ = scanner.scan(record)
        if scanner.endEarly(record, expectedFields: header.count, before: limit) { return true }
        scanner = before
        lines.isHopeless = true
        return false
    }

    /// Ends the last record early if the file ends within quotes and another row follows in the quoted text.
    /// Otherwise it may be a row that is still being written.
    private mutating func endsEarly(inLast record: Span<UInt8>) -> Bool {
        var ended = scanner
        guard header.count > 1, scanner.isQuoted,
            ended.endEarly(record, expectedFields: header.count, before: record.count)
        else { return false }
        let start = ended.position
        let end = record.firstIndex(of: UInt8(ascii: "\n"), from: start, to: record.count) ?? record.count
        guard record.count(of: header.separator, from: start, to: end) + 1 == header.count else { return false }
        scanner = ended
        return true
    }
}

extension StoredValue {
    static let unclosedQuote = StoredValue.unreadable(
        code: "unclosedQuote",
        reason: "a quote opens a field and is not closed in its row; the record was ended at a line break")
}
