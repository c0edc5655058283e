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
    private let use: SourceUse
    /// Limits on fields and records. A row that exceeds one is unreadable.
    let limits: SourceLimits
    var window: ByteWindow
    var scanner: CSVScanner
    /// Whether the scanner has found the end of the record in the window.
    private(set) var isScanned = false
    /// The record in the window, if only its second reading is right.
    private var escaped: EscapedRecord?
    private var nextRowNumber: Int64
    /// A record that is too long for the window: its position, and the fields before the limit.
    var longRecord: (start: SourcePosition, id: SourceText, accountToken: SourceText)?
    /// Digest of the bytes of that record that are no longer in the window; `nil` unless this is a filter.
    private var longRecordDigest: LineDigest?
    /// Line breaks counted so far in the record in the window.
    var lines = CountedLines()
    var end = TextEnd()

    init(
        _ stream: any ByteStream, options: SourceOptions, limits: SourceLimits = SourceLimits(),
        at position: SourcePosition?, for use: SourceUse = .resumable
    ) throws(SourceError) {
        self.limits = limits
        self.use = use
        window = ByteWindow(stream, capacity: limits.chunk)
        identity = try window.identity(as: Self.kind)
        header = try window.takeHeader(options)
        notices = position == nil && use == .resumable ? [header.notice].compactMap(\.self) : []
        scanner = header.scanner
        nextRowNumber = position?.nextRowNumber ?? 1
        guard let position else { return }
        guard let offset = Int64(position.place), offset >= window.offset else {
            throw SourceError(.changed, at: window.name, "the saved position is of a different kind of source")
        }
        try window.skip(throughLineBreak: offset - window.offset)
    }

    var longRow: SourcePosition? { longRecord?.start }

    var position: SourcePosition {
        SourcePosition(place: "\(window.offset)", nextRowNumber: nextRowNumber)
    }

    // MARK: - Records

    mutating func findRow(hasRows: Bool) throws(SourceError) -> TextRow? {
        while true {
            if !isScanned {
                let isWhole = scan()
                isScanned = endsEarly(isWhole: isWhole) || isWhole
            }
            let second = isScanned || window.isAtEnd ? secondReading() : .none
            if case .complete(let record) = second {
                escaped = record
                return record.isTerminated ? .whole(record.length) : .unfinished
            }
            if isScanned, second != .incomplete { return .whole(scanner.position) }
            if window.isAtEnd { return window.count > 0 || longRecord != nil ? .unfinished : nil }
            if window.count > limits.row, !isScanned {
                rememberLongRecord()
                window.drop(scanner.position)
                scanner.discardFields()
            }
            if hasRows, use == .filter, window.isPaused { return nil }
            try window.extend()
        }
    }

    /// Stores the id and the account token of a record that is too long, before its bytes are dropped.
    private mutating func rememberLongRecord() {
        if use == .filter {
            var digest = longRecordDigest ?? LineDigest()
            let length = scanner.position
            window.read { digest.add($0.extracting(0..<length)) }
            longRecordDigest = digest
        }
        guard longRecord == nil else { return }
        longRecord = window.read { record in
            (position, text(at: header.id, in: record), text(at: header.accountToken, in: record))
        }
    }

    private mutating func scan() -> Bool {
        let bytes = window.bytes
        return scanner.scan(bytes.span.extracting(window.range))
    }

    private mutating func finishRecord() {
        let bytes = window.bytes
        scanner.finish(bytes.span.extracting(window.range))
    }

    /// Returns the row of the scanned record and removes the record from the window; `nil` for a blank line.
    mutating func takeRow(_ found: TextRow) -> SourceRow? {
        if case .unfinished = found { finishRecord() }
        let length = escaped?.length ?? scanner.position
        var digest = longRecordDigest
        let next = window.read { bytes -> SourceRow? in
            let record = bytes.extracting(0..<length)
            guard let row = row(of: record) else { return nil }
            guard use == .filter else { return row }
            return row.named(digest?.id(endingWith: record) ?? LineDigest.id(of: record))
        }
        window.drop(length)
        scanner.reset()
        (longRecord, longRecordDigest, lines, isScanned, escaped) = (nil, nil, CountedLines(), false, nil)
        if next != nil { nextRowNumber += 1 }
        return next
    }

    private func row(of record: Span<UInt8>) -> SourceRow? {
        let tooLarge = StoredValue.tooLarge("the record", limit: limits.row)
        if let longRecord {
            return SourceRow(
                number: nextRowNumber, id: longRecord.id, value: tooLarge, accountToken: longRecord.accountToken)
        }
        guard record.count <= limits.row else { return row(tooLarge, in: record) }
        guard !record.isLineBreak else { return nil }
        return row(escaped == nil ? malformation(of: record) ?? value(in: record) : value(in: record), in: record)
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
        guard let receipt = header.receipt else { return .missing }
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

    private func row(_ value: StoredValue, in record: Span<UInt8>) -> SourceRow {
        SourceRow(
            number: nextRowNumber, id: text(at: header.id, in: record), value: value,
            accountToken: text(at: header.accountToken, in: record),
            transactionIds: text(at: header.transactionIds, in: record).text.map { Array($0.utf8) })
    }

    /// Returns the field at an index, or `missing` if the record has no such field before the limit.
    ///
    /// The end of a field is certain only two bytes later, for example at the line break after a closing quote. So a
    /// field counts if these are before the limit too: the result must not depend on how much was read.
    private func text(at index: Int?, in record: Span<UInt8>) -> SourceText {
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
