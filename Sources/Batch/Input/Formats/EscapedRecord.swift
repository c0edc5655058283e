/// The second reading of a record, for exports in which a backslash makes the next byte ordinary. It counts only if it
/// has as many fields as the header.
///
///     1,"He said \"yes\""     MySQL `INTO OUTFILE … ENCLOSED BY '"'`; Spark, whose option `escape` is a backslash
///     1<tab>"Yes", he said    PostgreSQL `COPY`, `mysql --batch`, `psql -A`: a quote is an ordinary byte
///     1<tab>two\<LF>lines     MySQL `INTO OUTFILE`
///
/// Sources: MySQL 8.4 Reference Manual, "LOAD DATA Statement"; PostgreSQL 17 documentation, "COPY", text format; Apache
/// Spark 3.5 documentation, "CSV Files".
struct EscapedRecord: Sendable, Hashable {
    enum Reading: Sendable, Hashable {
        case complete(EscapedRecord)
        /// The record may end in bytes that follow.
        case incomplete
        case none
    }

    /// Number of bytes, with the line break.
    let length: Int
    /// `false` if the text ends without a line break.
    let isTerminated: Bool
    /// The fields without their quotes.
    private let fields: [Range<Int>]

    /// Whether quotes are most likely ordinary bytes: RFC 4180 is for commas, and spreadsheets write semicolons.
    static func hasLiteralQuotes(_ separator: UInt8) -> Bool {
        separator != UInt8(ascii: ",") && separator != UInt8(ascii: ";")
    }

    /// Reads the record at the beginning of the bytes. With `isEnd` the text ends with them; with `mayGrow` more can be
    /// had.
    static func read(
        _ bytes: Span<UInt8>, _ header: CSVHeader, isEnd: Bool, mayGrow: Bool, maximumLines: Int
    ) -> Reading {
        var literalScanner = Scanner(header, isQuoted: false, maximumLines: maximumLines)
        var literal = literalScanner.scan(bytes, from: 0, isEnd: isEnd)
        if hasLiteralQuotes(header.separator) {
            if case .complete = literal, !literalScanner.hasEscapedQuotes { return literal }
            if literal == .incomplete { return mayGrow ? .incomplete : .none }
        } else if case .complete = literal, !literalScanner.hasEscapedBreaks {
            literal = .none
        }
        var scanner = Scanner(header, isQuoted: true, maximumLines: maximumLines)
        switch scanner.scan(bytes, from: 0, isEnd: isEnd) {
        case .complete(let record) where scanner.hasEscapedQuotes || scanner.hasEscapedBreaks: return .complete(record)
        case .incomplete where mayGrow: return .incomplete
        default: return literal == .incomplete && !mayGrow ? .none : literal
        }
    }

    /// Returns the first of several records that RFC 4180 takes for one, because a quote that is an ordinary byte opens
    /// a field in it; `nil` if the lines have not all as many fields as the header.
    static func first(ofLinesIn record: Span<UInt8>, _ header: CSVHeader, maximumLines: Int) -> EscapedRecord? {
        var first: EscapedRecord?
        var start = 0
        while start < record.count {
            var scanner = Scanner(header, isQuoted: false, maximumLines: maximumLines)
            guard case .complete(let line) = scanner.scan(record, from: start, isEnd: false) else { return nil }
            first = first ?? line
            start = line.length
        }
        return first
    }

    /// Returns a field without its escapes. A field `\N` stands for NULL and stays as it is.
    func text(at index: Int, in record: Span<UInt8>) -> [UInt8] {
        let range = fields[index]
        guard record.firstIndex(of: Self.backslash, from: range.lowerBound, to: range.upperBound) != nil,
            record.array(range) != Array("\\N".utf8)
        else { return record.array(range) }
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            if record[index] == Self.backslash, index + 1 < range.upperBound {
                index += 1
                text.append(Self.controls[record[index]] ?? record[index])
            } else {
                text.append(record[index])
            }
            index += 1
        }
        return text
    }

    private static let backslash = UInt8(ascii: "\\")
    /// What letters after a backslash stand for.
    private static let controls: [UInt8: UInt8] = [
        UInt8(ascii: "0"): 0x00, UInt8(ascii: "b"): 0x08, UInt8(ascii: "t"): 0x09, UInt8(ascii: "n"): 0x0A,
        UInt8(ascii: "v"): 0x0B, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "Z"): 0x1A,
    ]

    /// Finds the fields of one record.
    private struct Scanner {
        let separator: UInt8
        let count: Int
        /// Whether a quote at the beginning of a field encloses it.
        let isQuoted: Bool
        let maximumLines: Int
        private(set) var hasEscapedQuotes = false
        /// Whether a separator or a line break was escaped.
        private(set) var hasEscapedBreaks = false
        private var fields: [Range<Int>] = []
        private var start = 0

        init(_ header: CSVHeader, isQuoted: Bool, maximumLines: Int) {
            (separator, count) = (header.separator, header.count)
            (self.isQuoted, self.maximumLines) = (isQuoted, maximumLines)
        }

        mutating func scan(_ bytes: Span<UInt8>, from first: Int, isEnd: Bool) -> Reading {
            var (index, lines, isOpen) = (first, 0, false)
            start = first
            while index < bytes.count {
                switch bytes[index] {
                case EscapedRecord.backslash:
                    guard index + 1 < bytes.count else { return isEnd ? .none : .incomplete }
                    index += 1
                    if bytes[index] == 0x22 { hasEscapedQuotes = true }
                    if bytes[index] == 0x0A { lines += 1 }
                    hasEscapedBreaks = hasEscapedBreaks || [0x0A, separator].contains(bytes[index])
                case 0x22 where isOpen:
                    guard index + 1 < bytes.count || isEnd else { return .incomplete }
                    guard isFieldEnd(bytes, index + 1) else { return .none }
                    fields.append(start..<index)
                    (isOpen, start) = (false, -1)
                case 0x22 where isQuoted && index == start: (isOpen, start) = (true, index + 1)
                case 0x0A where isOpen: lines += 1
                case 0x0A: return end(bytes, at: index, length: index + 1)
                case separator where !isOpen:
                    finishField(at: index)
                    start = index + 1
                    guard fields.count < count else { return .none }
                default: break
                }
                guard lines <= maximumLines else { return .none }
                index += 1
            }
            guard isEnd else { return .incomplete }
            return isOpen ? .none : end(bytes, at: bytes.count, length: nil)
        }

        /// Whether a separator, a line break or nothing follows a closing quote.
        private func isFieldEnd(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
            guard index < bytes.count else { return true }
            return bytes[index] == separator || bytes[index] == 0x0A
                || bytes[index] == 0x0D && (index + 1 == bytes.count || bytes[index + 1] == 0x0A)
        }

        /// Adds a field, unless its closing quote has added it.
        private mutating func finishField(at end: Int) {
            if start >= 0 { fields.append(start..<end) }
        }

        private mutating func end(_ bytes: Span<UInt8>, at end: Int, length: Int?) -> Reading {
            finishField(at: start >= 0 && end > start && bytes[end - 1] == 0x0D ? end - 1 : end)
            guard fields.count == count else { return .none }
            return .complete(
                EscapedRecord(length: length ?? bytes.count, isTerminated: length != nil, fields: fields))
        }
    }
}

extension CSVSource {
    /// Reads the record in the window a second time, if its first reading cannot be right.
    func secondReading() -> EscapedRecord.Reading {
        guard text.long == nil, !lines.isHopeless, header.count > 1, text.window.count > 0 else { return .none }
        let (scanner, header, limits, isAtEnd) = (scanner, header, limits, text.window.isAtEnd)
        let isScanned = isScanned
        return text.window.read { bytes in
            let limit = min(bytes.count, limits.row)
            let record = bytes.extracting(0..<(isScanned ? scanner.position : bytes.count))
            guard isScanned ? scanner.isDoubtful(record, header) : scanner.isUnfinished(header) else {
                guard isScanned, record.count <= limit, EscapedRecord.hasLiteralQuotes(header.separator),
                    record.firstIndex(of: 0x0A, from: 0, to: record.count - 1) != nil
                else { return .none }
                let first = EscapedRecord.first(ofLinesIn: record, header, maximumLines: limits.quotedLines)
                return first.map(EscapedRecord.Reading.complete) ?? .none
            }
            return EscapedRecord.read(
                bytes.extracting(0..<limit), header, isEnd: isAtEnd && limit == bytes.count,
                mayGrow: !isAtEnd && bytes.count < limits.row, maximumLines: limits.quotedLines)
        }
    }
}

extension CSVScanner {
    /// Whether a whole record is malformed, has another number of fields, or ends with an escaped line break.
    fileprivate func isDoubtful(_ record: Span<UInt8>, _ header: CSVHeader) -> Bool {
        guard !record.isLineBreak else { return false }
        guard !isBroken, !hasEndedEarly, fieldCount == header.count else { return true }
        var backslashes = 0
        while backslashes + 1 < record.count, record[record.count - 2 - backslashes] == UInt8(ascii: "\\") {
            backslashes += 1
        }
        return backslashes % 2 == 1
    }

    /// Whether a last record without a line break is malformed, or has another number of fields.
    fileprivate func isUnfinished(_ header: CSVHeader) -> Bool {
        isBroken || isQuoted || fieldCount + 1 != header.count
    }
}
