/// A source that reads its rows from text: lines of JSON, or records of CSV.
protocol TextSource: RowSource {
    static var kind: SourceIdentity.Kind { get }
    var window: ByteWindow { get }
    var end: TextEnd { get set }
    /// Position after the rows that were returned.
    var position: SourcePosition { get }
    /// Position of a row that is too long for the window; `nil` if no such row is being read.
    var longRow: SourcePosition? { get }

    /// Finds the next row; `nil` at the end of the text, and while the writer of a filter's input pauses.
    ///
    /// - Parameter hasRows: If `true`, there are rows to return first.
    mutating func findRow(hasRows: Bool) throws(SourceError) -> TextRow?

    /// Returns the row that was found, and removes it from the window; `nil` if it has no content.
    mutating func takeRow(_ found: TextRow) -> SourceRow?
}

/// A row in the window.
enum TextRow {
    /// A complete row with its length in bytes, including the line break.
    case whole(Int)
    /// The rest of the text, without a line break.
    case unfinished
}

/// How the reading of a text ended.
struct TextEnd {
    /// An error that the next call throws, after the rows before it have been returned.
    fileprivate var failure: SourceError?
    fileprivate var isReached = false
}

extension TextSource {
    var fraction: Double? { window.fraction }

    func comparison(with earlier: SourceIdentity) throws(SourceError) -> SourceComparison {
        try window.identity(as: Self.kind, ofSize: earlier.size ?? 0).comparison(with: earlier, unit: "byte")
    }

    mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> SourceBatch? {
        var rows: [SourceRow] = []
        var bytes = 0
        while !end.isReached, rows.count < max(maximumRows, 1), rows.isEmpty || bytes < maximumBytes {
            guard let found = try nextRow(canFail: rows.isEmpty) else {
                end.isReached = rows.isEmpty
                break
            }
            if case .unfinished = found {
                guard rows.isEmpty else { break }
                end.isReached = true
                let start = longRow ?? position
                return takeRow(found).map { SourceBatch(rows: [$0], end: start, isUnfinishedTail: true) }
            }
            guard let row = takeRow(found) else { continue }
            bytes += row.value.size
            rows.append(row)
        }
        return rows.isEmpty ? nil : SourceBatch(rows: rows, end: position)
    }

    /// Finds the next row.
    ///
    /// - Parameter canFail: If `false`, there are rows to return first, and a failure is thrown by the next call.
    private mutating func nextRow(canFail: Bool) throws(SourceError) -> TextRow? {
        do throws(SourceError) {
            if let failure = end.failure { throw failure }
            return try findRow(hasRows: !canFail)
        } catch {
            end.failure = error
            guard canFail else { return nil }
            throw error
        }
    }
}
