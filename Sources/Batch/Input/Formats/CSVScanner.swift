/// An incremental parser that finds the fields of one CSV record.
///
///     record = field *(separator field) (LF / CRLF)
///     field  = quote *(any byte but a quote / quote quote) quote      RFC 4180, section 2
///            / *(any byte but separator and LF)                       a quote inside is an ordinary byte
///
/// A closing quote must be followed by a separator or the end of the record. Otherwise the record is malformed and
/// ends at the next LF. If a stray quote makes the following lines part of its field,
/// ``endEarly(_:expectedFields:before:)`` ends the record, so that those lines become records.
struct CSVScanner: Sendable {
    /// Position of a field in its record, without the surrounding quotes.
    struct Field: Sendable, Hashable {
        let range: Range<Int>
        /// `true` if the field contains doubled quotes, each of which stands for one.
        let hasQuotes: Bool
    }

    /// The requested fields. A record may have more, see ``fieldCount``.
    private(set) var fields: [Field] = []
    /// Number of fields found so far, including those that are not stored.
    private(set) var fieldCount = 0
    /// `true` if a closing quote is not followed by a separator.
    private(set) var isBroken = false
    /// Number of bytes of the record that have been scanned.
    private(set) var position = 0

    /// `true` if the record ended at a line break within quotes, see ``endEarly(_:expectedFields:before:)``.
    private(set) var hasEndedEarly = false
    var isQuoted: Bool { state == .quoted }

    /// State of the parser. `afterQuote` is after a quote that closes the field or is the first of two.
    private enum State {
        case atFieldStart, plain, quoted, afterQuote, broken
    }

    private let separator: UInt8
    private let wantedFields: Int
    /// `true` if fields are not stored, see ``discardFields()``.
    private var isSkipping = false
    private var state = State.atFieldStart
    private var start = 0
    private var hasQuotes = false
    /// Start of the malformed field, and the number of fields before it.
    private var brokenField: (start: Int, before: Int)?

    /// - Parameter wantedFields: Maximum number of fields to store, which limits the memory for a million commas.
    init(separator: UInt8, wantedFields: Int) {
        self.separator = separator
        self.wantedFields = wantedFields
    }

    /// `true` if the file ended before the closing quote.
    private(set) var isInQuotes = false

    mutating func reset() {
        fields.removeAll(keepingCapacity: true)
        (fieldCount, isBroken, isSkipping, position, state) = (0, false, false, 0, .atFieldStart)
        (hasEndedEarly, brokenField) = (false, nil)
    }

    /// Discards the fields and bytes scanned so far and continues only to find the end of the record.
    mutating func discardFields() {
        fields = []
        (isSkipping, position, start) = (true, 0, 0)
    }

    /// Continues where the previous call stopped. Returns `true` if the record is complete; ``position`` is then after
    /// its line break.
    mutating func scan(_ record: Span<UInt8>) -> Bool {
        let count = record.count
        // Searched once for each line, not once for each field.
        var lineEnd = -1
        while position < count {
            if lineEnd < position, state != .quoted {
                lineEnd = record.firstIndex(of: Self.lineFeed, from: position, to: count) ?? count
            }
            switch state {
            case .atFieldStart:
                (start, hasQuotes) = (position, false)
                state = .plain
                guard record[position] == Self.quote else { continue }
                (start, state) = (position + 1, .quoted)
                position += 1
            case .plain:
                if let end = record.firstIndex(of: separator, from: position, to: lineEnd) {
                    finishField(at: end)
                    position = end + 1
                } else {
                    position = lineEnd
                    guard lineEnd < count else { return false }
                    finishField(
                        at: lineEnd > start && record[lineEnd - 1] == Self.carriageReturn ? lineEnd - 1 : lineEnd)
                    position += 1
                    return true
                }
            case .quoted:
                guard let end = record.firstIndex(of: Self.quote, from: position, to: count) else {
                    position = count
                    return false
                }
                (position, state) = (end + 1, .afterQuote)
            case .afterQuote:
                if let isComplete = scanAfterQuote(record, lineEnd) { return isComplete }
            case .broken:
                position = lineEnd
                guard lineEnd < count else { return false }
                finishField(at: start)
                position += 1
                return true
            }
        }
        return false
    }

    /// Scans what follows a quote in a quoted field. Returns `true` if the record is complete, `false` if the line is
    /// not, and `nil` if the record goes on.
    @inline(__always)
    private mutating func scanAfterQuote(_ record: Span<UInt8>, _ lineEnd: Int) -> Bool? {
        let (byte, end) = (record[position], position - 1)
        if byte == Self.quote {
            (hasQuotes, state) = (true, .quoted)
            position += 1
            return nil
        }
        if byte == separator || position == lineEnd {
            finishField(at: end)
            position += 1
            return byte == separator ? nil : true
        }
        guard byte == Self.carriageReturn, position + 1 == lineEnd else {
            (isBroken, state, brokenField) = (true, .broken, (start, fieldCount))
            return nil
        }
        guard lineEnd < record.count else { return false }
        finishField(at: end)
        position += 2
        return true
    }

    /// Finishes a record that ends with the file, without a line break.
    mutating func finish(_ record: Span<UInt8>) {
        let endsInReturn = position > start && position > 0 && record[position - 1] == Self.carriageReturn
        switch state {
        case .atFieldStart:
            start = position
            finishField(at: position)
        case .plain: finishField(at: endsInReturn ? position - 1 : position)
        case .afterQuote: finishField(at: position - 1)
        case .quoted, .broken:
            isInQuotes = state == .quoted
            isBroken = true
            finishField(at: start)
        }
    }

    /// Ends the record within its open or malformed field, with the opening quote taken as an ordinary byte. The record
    /// ends at the first line break at which it has the expected number of fields. Returns `false`, and changes
    /// nothing, if there is none before `end`.
    mutating func endEarly(_ record: Span<UInt8>, expectedFields: Int, before end: Int) -> Bool {
        let field = brokenField ?? (start, fieldCount)
        guard !isSkipping, isQuoted || brokenField != nil else { return false }
        var count = field.before + 1
        var from = field.start
        while let lineEnd = record.firstIndex(of: Self.lineFeed, from: from, to: end) {
            count += record.count(of: separator, from: from, to: lineEnd)
            guard count < expectedFields else {
                fields.removeLast(max(0, fields.count - field.before))
                (fieldCount, start, hasQuotes) = (field.before, field.start, false)
                while let end = record.firstIndex(of: separator, from: start, to: lineEnd) {
                    finishField(at: end)
                    start = end + 1
                }
                finishField(at: lineEnd > start && record[lineEnd - 1] == Self.carriageReturn ? lineEnd - 1 : lineEnd)
                (isBroken, hasEndedEarly, position) = (true, true, lineEnd + 1)
                return true
            }
            from = lineEnd + 1
        }
        return false
    }

    private mutating func finishField(at end: Int) {
        if !isSkipping, fields.count < wantedFields { fields.append(Field(range: start..<end, hasQuotes: hasQuotes)) }
        fieldCount += 1
        state = .atFieldStart
    }

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
}

extension CSVScanner.Field {
    /// Returns the value of the field, with doubled quotes replaced by single ones.
    func text(in record: Span<UInt8>) -> [UInt8] {
        guard hasQuotes else { return record.array(range) }
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var start = range.lowerBound
        while let quote = record.firstIndex(of: UInt8(ascii: "\""), from: start, to: range.upperBound) {
            text.append(contentsOf: record.array(start..<quote + 1))
            start = quote + 2
        }
        text.append(contentsOf: record.array(min(start, range.upperBound)..<range.upperBound))
        return text
    }
}
