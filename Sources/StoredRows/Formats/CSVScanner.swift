/// Finds the fields of one record, over as many pieces as it comes in.
///
///     record = field *(separator field) (LF / CRLF)
///     field  = quote *(any byte but a quote / quote quote) quote      RFC 4180, section 2
///            / *(any byte but separator and LF)                       a quote inside is a byte like others
///
/// What follows a closing quote other than a separator or the end breaks the record: its end is the next LF. Where a quote
/// was not meant as one, and the lines after it are in its field, ``endEarly(_:expectedFields:before:)`` gives them back.
struct CSVScanner: Sendable {
    /// Where a field stands in its record, without the quotes around it.
    struct Field: Sendable, Hashable {
        let range: Range<Int>
        /// Two quotes stand for one.
        let hasQuotes: Bool
    }

    /// Those that were asked for; a record may have more, see ``fieldCount``.
    private(set) var fields: [Field] = []
    private(set) var fieldCount = 0
    /// Something stands between a closing quote and the next separator.
    private(set) var isBroken = false
    /// Bytes of the record that were looked at.
    private(set) var position = 0

    /// The record ends at a line break within quotes, see ``endEarly(_:expectedFields:before:)``.
    private(set) var hasEndedEarly = false
    /// A quote is open.
    var isQuoted: Bool { state == .quoted }

    private enum State {
        case atFieldStart, plain, quoted, behindQuote, broken
    }

    private let separator: UInt8
    private let wantedFields: Int
    private var isSkipping = false
    private var state = State.atFieldStart
    private var start = 0
    private var hasQuotes = false
    /// Of the field that broke the record: where it begins, and how many fields come before it.
    private var brokenField: (start: Int, before: Int)?

    /// - Parameter wantedFields: how many to keep; a record of a million commas is not worth their memory.
    init(separator: UInt8, wantedFields: Int) {
        self.separator = separator
        self.wantedFields = wantedFields
    }

    /// The file ended before the closing quote.
    private(set) var isInQuotes = false

    /// Begins with another record.
    mutating func reset() {
        fields.removeAll(keepingCapacity: true)
        (fieldCount, isBroken, isSkipping, position, state) = (0, false, false, 0, .atFieldStart)
        (hasEndedEarly, brokenField) = (false, nil)
    }

    /// Goes on without the bytes looked at so far, to find the end of the record and nothing else.
    mutating func discardFields() {
        fields = []
        (isSkipping, position, start) = (true, 0, 0)
    }

    /// Goes on over the bytes of the record, from where it stopped.
    ///
    /// - Returns: true where the record is complete; ``position`` is behind its line break then.
    mutating func scan(_ record: Span<UInt8>) -> Bool {
        let count = record.count
        // Looked for once a line, not once a field.
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
                (position, state) = (end + 1, .behindQuote)
            case .behindQuote:
                let (byte, end) = (record[position], position - 1)
                if byte == Self.quote {
                    (hasQuotes, state) = (true, .quoted)
                    position += 1
                } else if byte == separator || position == lineEnd {
                    finishField(at: end)
                    position += 1
                    guard byte == separator else { return true }
                } else if byte == Self.carriageReturn, position + 1 == lineEnd {
                    guard lineEnd < count else { return false }
                    finishField(at: end)
                    position += 2
                    return true
                } else {
                    (isBroken, state, brokenField) = (true, .broken, (start, fieldCount))
                }
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

    /// The file ends here, without a line break.
    mutating func finish(_ record: Span<UInt8>) {
        let endsInReturn = position > start && position > 0 && record[position - 1] == Self.carriageReturn
        switch state {
        case .atFieldStart:
            start = position
            finishField(at: position)
        case .plain: finishField(at: endsInReturn ? position - 1 : position)
        case .behindQuote: finishField(at: position - 1)
        case .quoted, .broken:
            isInQuotes = state == .quoted
            isBroken = true
            finishField(at: start)
        }
    }

    /// Ends the record within its open or broken field: at the first line break where the record has the fields that are
    /// expected, if the quote that opens the field is a byte like others.
    ///
    /// - Returns: false, and nothing has changed, if no such line break comes before `end`.
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
    /// What it says.
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
