/// A source that reads CSV: one row for each record after the header, see ``CSVScanner``. Blank lines are skipped.
///
/// The separator is a comma, or another one of ``CSVHeader/separators`` if the header contains that instead. The text
/// is UTF-8 with or without a byte order mark, see ``ByteWindow``. A position is the byte offset of a record.
///
/// A quote that is not closed, or closed in a later row, does not affect other rows: see `CSVSource+quotes.swift`. A
/// record that is malformed according to RFC 4180 is read a second time: see ``EscapedRecord``.
struct CSVSource: TextSource {
    static let kind = SourceIdentity.Kind.csv

    let identity: SourceIdentity

    let header: CSVHeader
    let notices: [String]
    /// Limits on fields and records. A row that exceeds one is unreadable.
    let limits: SourceLimits
    var text: RecordFramer
    var scanner: CSVScanner
    /// Whether the scanner has found the end of the record in the window.
    private(set) var isScanned = false
    /// The record in the window, if only its second reading is right.
    private var escaped: EscapedRecord?
    /// The fields before the limit of a record that is too long for the window.
    private var longRecord: (id: SourceText, accountToken: SourceText)?
    /// Line breaks counted so far in the record in the window.
    var lines = CountedLines()

    init(
        _ stream: any ByteStream, options: SourceOptions, limits: SourceLimits = SourceLimits(),
        at position: SourcePosition?, for use: SourceUse = .resumable
    ) throws(SourceError) {
        self.limits = limits
        var window = ByteWindow(stream, capacity: limits.chunk)
        identity = try window.identity(as: Self.kind)
        header = try window.takeHeader(options)
        notices = position == nil && use == .resumable ? [header.notice].compactMap(\.self) : []
        scanner = header.scanner
        if let position {
            guard let offset = Int64(position.place), offset >= window.offset else {
                throw SourceError(.changed, at: window.name, "the saved position is of a different kind of source")
            }
            try window.skip(throughLineBreak: offset - window.offset)
        }
        text = RecordFramer(window, limits, at: position, for: use)
    }

    // MARK: - Records

    mutating func findRecord() -> TextRecord? {
        if !isScanned {
            let isWhole = scan()
            isScanned = endsEarly(isWhole: isWhole) || isWhole
        }
        let second = isScanned || text.window.isAtEnd ? secondReading() : .none
        if case .complete(let record) = second {
            escaped = record
            return record.isTerminated ? .whole(record.length) : .unfinished
        }
        return isScanned && second != .incomplete ? .whole(scanner.position) : nil
    }

    mutating func keepPartOfLongRecord() -> Int? {
        guard !isScanned else { return nil }
        if longRecord == nil {
            longRecord = text.window.read { record in
                (field(of: .id, in: record), field(of: .accountToken, in: record))
            }
        }
        defer { scanner.discardFields() }
        return scanner.position
    }

    private mutating func scan() -> Bool {
        let bytes = text.window.bytes
        return scanner.scan(bytes.span.extracting(text.window.range))
    }

    mutating func finishRecord() -> Int {
        let bytes = text.window.bytes
        scanner.finish(bytes.span.extracting(text.window.range))
        return escaped?.length ?? scanner.position
    }

    mutating func reset() {
        scanner.reset()
        (longRecord, lines, isScanned, escaped) = (nil, CountedLines(), false, nil)
    }

    func row(of record: Span<UInt8>, number: Int64) -> SourceRow? {
        let tooLarge = StoredValue.tooLarge("the record", limit: limits.row)
        if let longRecord {
            return SourceRow(
                number: number, id: longRecord.id, value: tooLarge, accountToken: longRecord.accountToken)
        }
        let value: StoredValue
        if record.count > limits.row {
            value = tooLarge
        } else {
            guard !record.isLineBreak else { return nil }
            value = (escaped == nil ? malformation(of: record) : nil) ?? self.value(in: record)
        }
        return SourceRow(
            number: number, id: field(of: .id, in: record), value: value,
            accountToken: field(of: .accountToken, in: record),
            transactionIds: field(of: .transactionIds, in: record).text.map { Array($0.utf8) })
    }

    /// Returns why the first reading of a record is malformed; `nil` if it is not.
    private func malformation(of record: Span<UInt8>) -> StoredValue? {
        guard !scanner.hasEndedEarly else { return .unclosedQuote }
        guard !scanner.isBroken else {
            let reason =
                scanner.isInQuotes
                ? "the file ends within quotes, \(lines(in: record)) after the start of the record"
                : "there is text between a closing quote and the next separator"
            return .unreadable(code: "malformedQuotes", reason: reason)
        }
        guard scanner.fieldCount == header.count else {
            let reason = "the record has \(scanner.fieldCount) fields, but the header has \(header.count)"
            return .unreadable(code: "wrongFieldCount", reason: reason)
        }
        return nil
    }

    private func value(in record: Span<UInt8>) -> StoredValue {
        guard let receipt = header.columns[.receipt] else { return .missing }
        guard escaped != nil || scanner.fields[receipt].range.count <= limits.field else {
            return .tooLarge("the field", limit: limits.field)
        }
        let bytes = escaped?.text(at: receipt, in: record) ?? scanner.fields[receipt].text(in: record)
        return bytes.count <= limits.field ? StoredValue(bytes: bytes) : .tooLarge("the field", limit: limits.field)
    }

    private func lines(in record: Span<UInt8>) -> String {
        let count = record.count(of: UInt8(ascii: "\n"), from: 0, to: record.count)
        return count == 1 ? "1 line" : "\(count) lines"
    }

    /// Returns the field of a column, or `missing` if the record has no such field before the limit.
    ///
    /// The end of a field is certain only two bytes later, for example at the line break after a closing quote. So a
    /// field counts if these are before the limit too: the result must not depend on how much was read.
    private func field(of role: ColumnRole, in record: Span<UInt8>) -> SourceText {
        let index = header.columns[role]
        if let index, let escaped { return SourceText(escaped.text(at: index, in: record)) }
        guard let index, index < scanner.fields.count, scanner.fields[index].range.upperBound + 1 < limits.row else {
            return .missing
        }
        return SourceText(scanner.fields[index].text(in: record))
    }
}

extension Span<UInt8> {
    /// `true` if the record consists of a line break only.
    var isLineBreak: Bool {
        for index in indices where self[index] != 0x0A && self[index] != 0x0D { return false }
        return true
    }
}
