/// Quotes that were not meant as such: a record that one of them makes far too long, or breaks in a later line, ends at the
/// first line break where it has as many fields as the header. The lines after it are records again.
extension CSVSource {
    /// Line breaks of one record, counted once each.
    struct CountedLines: Sendable {
        var count = 0
        /// Up to which byte.
        var end = 0
        /// The record is over a limit, and there is no line break to end it at.
        var isHopeless = false
    }

    /// Ends the record in the window early, if it has to be; a record that is long, closes properly and is within the
    /// limits stays whole.
    mutating func endsEarly(isWhole: Bool) -> Bool {
        guard longRecord == nil, !lines.isHopeless else { return false }
        let length = isWhole ? scanner.position : window.count
        if let limit = limit(of: length) { return endsEarly(at: limit) }
        let bytes = window.bytes
        let record = bytes.span.extracting(window.range).extracting(0..<length)
        if scanner.isBroken, isWhole || window.isAtEnd {
            return scanner.endEarly(
                record, expectedFields: header.count, before: isWhole ? length - 1 : length)
        }
        return window.isAtEnd && !isWhole && endsEarly(inLast: record)
    }

    /// Where a record of that length is over a limit: the same place, however much of it is in the window.
    private mutating func limit(of length: Int) -> Int? {
        guard length > min(limits.row, limits.quotedLines) else { return nil }
        let bytes = window.bytes
        let record = bytes.span.extracting(window.range)
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

    private mutating func endsEarly(at limit: Int) -> Bool {
        let bytes = window.bytes
        let record = bytes.span.extracting(window.range).extracting(0..<limit)
        let before = scanner
        scanner.reset()
        _ = scanner.scan(record)
        if scanner.endEarly(record, expectedFields: header.count, before: limit) { return true }
        scanner = before
        lines.isHopeless = true
        return false
    }

    /// The file ends within quotes: that may be a row whose rest is still to be written, unless a row follows in it.
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
        reason: "a quote opens a field and does not close it in its row; the record was ended at the end of a line")
}
