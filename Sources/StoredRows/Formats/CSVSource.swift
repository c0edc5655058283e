/// One row a record of CSV, as ``CSVScanner`` describes it, behind a header with the names. Blank lines are none.
///
/// Separated by commas, or by semicolons or tabs where the header has those instead. In UTF-8, with or without a byte
/// order mark. A position is the byte at which a record begins.
///
/// A quote that does not close, or closes in a later row, takes no rows with it: see `CSVSource+quotes.swift`.
struct CSVSource: RowSource {
    let identity: SourceIdentity

    let header: CSVHeader
    /// With a longer field, or as a longer record, a row cannot be read.
    let limits: SourceLimits
    var window: ByteWindow
    var scanner: CSVScanner
    private var nextRowNumber: Int64
    /// Of a record that is too long for the window: where it begins, and what stands before the limit.
    var longRecord: (start: SourcePosition, id: SourceText, accountToken: SourceText)?
    /// Lines of the record in the window, as far as they were counted.
    var lines = CountedLines()
    private var failure: SourceError?
    private var isFinished = false

    init(
        _ stream: any ByteStream, options: SourceOptions, limits: SourceLimits = SourceLimits(),
        at position: SourcePosition?
    ) throws(SourceError) {
        self.limits = limits
        window = ByteWindow(stream, capacity: limits.chunk)
        identity = try window.identity(as: .csv)
        header = try window.takeHeader(options)
        scanner = header.scanner
        nextRowNumber = position?.nextRowNumber ?? 1
        guard let position else { return }
        guard let offset = Int64(position.place), offset >= window.offset else {
            throw SourceError(.changed, at: window.name, "the position is of a source of another kind")
        }
        try window.skip(behindLineBreak: offset - window.offset)
    }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        try window.comparison(with: earlier, as: .csv)
    }

    var fraction: Double? { window.fraction }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        var rows: [SourceRow] = []
        var bytes = 0
        while !isFinished, rows.count < max(maximumRows, 1), rows.isEmpty || bytes < maximumBytes {
            switch try nextRecord(canFail: rows.isEmpty) {
            case nil:
                isFinished = rows.isEmpty
                return rows.isEmpty ? nil : SourceBatch(rows: rows, end: position)
            case .whole:
                guard let row = nextRow() else { continue }
                bytes += row.value.size
                rows.append(row)
            case .unfinished:
                guard rows.isEmpty else { return SourceBatch(rows: rows, end: position) }
                isFinished = true
                let end = longRecord?.start ?? position
                finishRecord()
                return nextRow().map { SourceBatch(rows: [$0], end: end, isUnfinishedTail: true) }
            }
        }
        return rows.isEmpty ? nil : SourceBatch(rows: rows, end: position)
    }

    private var position: SourcePosition {
        SourcePosition(place: "\(window.offset)", nextRowNumber: nextRowNumber)
    }

    // MARK: - Records

    private enum Record {
        /// Up to where the scanner is.
        case whole
        /// All that is left, without a line break.
        case unfinished
    }

    /// - Parameter canFail: false where there are rows to deliver first; a failure then waits for the next call.
    private mutating func nextRecord(canFail: Bool) throws(SourceError) -> Record? {
        do throws(SourceError) {
            if let failure { throw failure }
            return try nextRecord()
        } catch {
            failure = error
            guard canFail else { return nil }
            throw error
        }
    }

    private mutating func nextRecord() throws(SourceError) -> Record? {
        while true {
            let isWhole = scan()
            if endsEarly(isWhole: isWhole) || isWhole { return .whole }
            if window.isAtEnd { return window.count > 0 || longRecord != nil ? .unfinished : nil }
            if window.count > limits.row {
                rememberLongRecord()
                window.drop(scanner.position)
                scanner.discardFields()
            }
            try window.extend()
        }
    }

    private mutating func rememberLongRecord() {
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

    /// The row in the record that was scanned, which leaves the window; nil for a blank line.
    private mutating func nextRow() -> SourceRow? {
        let length = scanner.position
        let taken = window.read { row(of: $0.extracting(0..<length)) }
        window.drop(length)
        scanner.reset()
        (longRecord, lines) = (nil, CountedLines())
        if taken != nil { nextRowNumber += 1 }
        return taken
    }

    private func row(of record: Span<UInt8>) -> SourceRow? {
        let tooLarge = StoredValue.tooLarge("the record", limit: limits.row)
        if let longRecord {
            return SourceRow(
                number: nextRowNumber, id: longRecord.id, value: tooLarge, accountToken: longRecord.accountToken)
        }
        guard record.count <= limits.row else { return row(tooLarge, in: record) }
        guard !record.isBlank else { return nil }
        guard !scanner.hasEndedEarly else { return row(.unclosedQuote, in: record) }
        guard !scanner.isBroken else {
            let reason =
                scanner.isInQuotes
                ? "the file ends within quotes, \(lines(in: record)) after the one in which the record begins"
                : "something stands between a closing quote and the next separator"
            return row(.unreadable(code: "malformedQuotes", reason: reason), in: record)
        }
        guard scanner.fieldCount == header.count else {
            let reason = "the record has \(scanner.fieldCount) fields where the header has \(header.count)"
            return row(.unreadable(code: "wrongFieldCount", reason: reason), in: record)
        }
        let field = scanner.fields[header.receipt]
        guard field.range.count <= limits.field else {
            return row(.tooLarge("the field", limit: limits.field), in: record)
        }
        return row(StoredValue(bytes: field.text(in: record)), in: record)
    }

    private func lines(in record: Span<UInt8>) -> String {
        let count = record.count(of: UInt8(ascii: "\n"), from: 0, to: record.count)
        return count == 1 ? "1 line" : "\(count) lines"
    }

    private func row(_ value: StoredValue, in record: Span<UInt8>) -> SourceRow {
        SourceRow(
            number: nextRowNumber, id: text(at: header.id, in: record), value: value,
            accountToken: text(at: header.accountToken, in: record))
    }

    /// Missing where the record has no such field before the limit.
    private func text(at place: Int?, in record: Span<UInt8>) -> SourceText {
        guard let place, place < scanner.fields.count, scanner.fields[place].range.upperBound < limits.row else {
            return .missing
        }
        return SourceText(scanner.fields[place].text(in: record))
    }
}

extension ByteWindow {
    /// Reads the first line; what comes next in the window is the first record.
    fileprivate mutating func takeHeader(_ options: SourceOptions) throws(SourceError) -> CSVHeader {
        var length: Int?
        repeat {
            try extend()
            length = read { CSVHeader.length(in: $0) }
            guard length != nil || count <= CSVHeader.maximumBytes else {
                throw SourceError(.malformed, at: name, "the first line is too long for a header of CSV")
            }
        } while length == nil && !isAtEnd
        guard count > 0 else { throw SourceError(.malformed, at: name, "the file is empty; CSV has a header") }
        guard read({ $0[0] < 0xFE }) else { throw SourceError(.malformed, at: name, "the text is UTF-16, not UTF-8") }
        if read({ $0.beginsWithByteOrderMark }) {
            drop(3)
            length = length.map { $0 - 3 }
        }
        let end = length ?? count
        let bytes = bytes
        let header = try CSVHeader(bytes.span.extracting(range).extracting(0..<end), options, at: name)
        drop(end)
        return header
    }
}

extension Span<UInt8> {
    /// A line break and nothing else.
    fileprivate var isBlank: Bool {
        for index in indices where self[index] != 0x0A && self[index] != 0x0D { return false }
        return true
    }
}
