/// A source that reads its rows from text: lines of JSON, or records of CSV. It frames them; a parser finds where a
/// record ends, and what is in it.
protocol TextSource: RowSource {
    static var kind: SourceIdentity.Kind { get }
    var text: RecordFramer { get set }
    /// Position after the rows that were returned.
    var position: SourcePosition { get }
    /// Number of bytes before the record at the start of the window.
    var recordStart: Int { get }

    /// Finds the record at the start of the window; `nil` if its end is not there yet.
    mutating func findRecord() throws(SourceError) -> TextRecord?

    /// Remembers what is needed of a record that is too long for the window. Returns how many of its bytes are dropped;
    /// `nil` if none are.
    mutating func keepPartOfLongRecord() -> Int?

    /// Prepares the parser for a record without a line break, and returns its length.
    mutating func finishRecord() -> Int

    /// Returns the row of a record; `nil` if it has no content.
    func row(of record: Span<UInt8>, number: Int64) -> SourceRow?

    /// Removes bytes at the start of the window.
    mutating func drop(_ count: Int)

    /// Prepares the parser for the next record.
    mutating func reset()
}

/// A record in the window.
enum TextRecord {
    /// A complete record with its length in bytes, including the line break.
    case whole(Int)
    /// The rest of the text, without a line break.
    case unfinished
}

/// What the framing of the records of a text needs.
struct RecordFramer {
    var window: ByteWindow
    let use: SourceUse
    /// Maximum length of a record in bytes. A longer one is an unreadable row.
    let maximumLength: Int
    fileprivate(set) var nextRowNumber: Int64
    /// A record that is too long for the window: its position, and the digest of its bytes that are no longer there;
    /// `nil` unless this is a filter.
    fileprivate(set) var long: (start: SourcePosition, digest: LineDigest?)?
    /// An error that the next call throws, after the rows before it have been returned.
    fileprivate var failure: SourceError?
    fileprivate var isAtEnd = false

    init(_ window: ByteWindow, _ limits: SourceLimits, at position: SourcePosition?, for use: SourceUse) {
        (self.window, self.use, maximumLength) = (window, use, limits.row)
        nextRowNumber = position?.nextRowNumber ?? 1
    }
}

extension TextSource {
    var fraction: Double? { text.window.fraction }
    var recordStart: Int { 0 }
    var position: SourcePosition {
        SourcePosition(place: "\(text.window.offset)", nextRowNumber: text.nextRowNumber)
    }

    mutating func drop(_ count: Int) { text.window.drop(count) }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        try text.window.identity(as: Self.kind, ofSize: earlier.size ?? 0).comparison(with: earlier, unit: "byte")
    }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        var rows: [SourceRow] = []
        var bytes = 0
        while !text.isAtEnd, rows.count < max(maximumRows, 1), rows.isEmpty || bytes < maximumBytes {
            guard let found = try nextRecord(canFail: rows.isEmpty) else {
                text.isAtEnd = rows.isEmpty
                break
            }
            if case .unfinished = found {
                guard rows.isEmpty else { break }
                text.isAtEnd = true
                let start = text.long?.start ?? position
                return takeRow(found).map { SourceBatch(rows: [$0], end: start, isUnfinishedTail: true) }
            }
            guard let row = takeRow(found) else { continue }
            bytes += row.value.size
            rows.append(row)
        }
        return rows.isEmpty ? nil : SourceBatch(rows: rows, end: position)
    }

    /// Finds the next record; `nil` at the end of the text, and while the writer of a filter's input pauses.
    ///
    /// - Parameter canFail: If `false`, there are rows to return first, and a failure is thrown by the next call.
    private mutating func nextRecord(canFail: Bool) throws(SourceError) -> TextRecord? {
        do throws(SourceError) {
            if let failure = text.failure { throw failure }
            while true {
                if let record = try findRecord() { return record }
                if text.window.isAtEnd { return text.window.count > 0 || text.long != nil ? .unfinished : nil }
                if text.window.count > text.maximumLength { dropPartOfLongRecord() }
                if !canFail, text.use == .filter, text.window.isPaused { return nil }
                try text.window.extend()
            }
        } catch {
            text.failure = error
            guard canFail else { return nil }
            throw error
        }
    }

    private mutating func dropPartOfLongRecord() {
        let (start, position) = (recordStart, position)
        guard let end = keepPartOfLongRecord() else { return }
        var digest = text.long?.digest ?? (text.use == .filter ? LineDigest() : nil)
        text.window.read { digest?.add($0.extracting(start..<end)) }
        text.long = (text.long?.start ?? position, digest)
        drop(end)
    }

    /// Returns the row of a record, and removes the record from the window; `nil` for one without content.
    private mutating func takeRow(_ found: TextRecord) -> SourceRow? {
        let length = if case .whole(let length) = found { length } else { finishRecord() }
        let (start, use, number) = (recordStart, text.use, text.nextRowNumber)
        var digest = text.long?.digest
        let row = text.window.read { bytes -> SourceRow? in
            let record = bytes.extracting(start..<length)
            guard let row = self.row(of: record, number: number) else { return nil }
            return use == .filter ? row.named(digest?.id(endingWith: record) ?? LineDigest.id(of: record)) : row
        }
        drop(length)
        reset()
        text.long = nil
        if row != nil { text.nextRowNumber += 1 }
        return row
    }
}
