import ReceiptBridgeBase
import ReceiptBridgeStorage

/// A text file with one result on each line.
struct TextSink: ResultSink {
    private let columns: [ResultColumn]
    private let text: RowText
    private let path: String
    private var file: OutputFile
    private var rows: Int64
    /// Fingerprints of all ids in the file.
    private let ids = FingerprintSet()
    /// The first error, which all later calls throw again.
    private var failure: SinkError?

    /// Opens the file.
    ///
    /// - Parameter position: Position to resume from; `nil` for a new file.
    init(
        path: String, _ format: TextFormat, _ columns: [ResultColumn], at position: SinkPosition?
    ) throws(SinkError) {
        (self.path, self.columns, text) = (path, columns, RowText(format, columns.map(\.rawValue)))
        file = try OutputFile(path: path, cutAt: position?.bytes)
        rows = position?.rows ?? 0
        if position?.bytes ?? 0 > 0 { try loadIds() } else { try file.append(text.header) }
    }

    mutating func write(_ row: ResultRow) throws(SinkError) -> WriteResult {
        try onFile { (sink) throws(SinkError) in
            guard try asSinkError({ () throws(StorageError) in try sink.ids.insert(row.id) }) else {
                return .repeatedId
            }
            try sink.file.append(sink.text.line(row.values(of: sink.columns), reserving: row.textSize))
            sink.rows += 1
            return .written
        }
    }

    mutating func checkpoint() throws(SinkError) -> SinkPosition {
        try onFile { (sink) throws(SinkError) in
            try sink.file.makeDurable()
            return SinkPosition(rows: sink.rows, bytes: sink.file.size)
        }
    }

    mutating func close() throws(SinkError) {
        _ = try checkpoint()
    }

    /// Calls `body` and stores its error. After an error, all later calls fail, because it is unknown how much of the
    /// data is in the file.
    private mutating func onFile<Result>(
        _ body: (inout Self) throws(SinkError) -> Result
    ) throws(SinkError) -> Result {
        if let failure { throw failure }
        do throws(SinkError) {
            return try body(&self)
        } catch {
            failure = error
            throw error
        }
    }

    /// Loads the ids of existing rows from the file, so that they need not be stored elsewhere.
    private func loadIds() throws(SinkError) {
        do throws(SourceError) {
            // Any column that is never empty can be read as the receipt.
            var source = try Sources.open(
                path, options: SourceOptions(receiptColumn: "outcome", format: text.format))
            var count: Int64 = 0
            while let batch = try source.next(maximumRows: 1_024, maximumBytes: 1 << 20), !batch.isUnfinishedTail {
                for id in batch.rows.compactMap(\.id) {
                    _ = try asSourceError { () throws(StorageError) in try ids.insert(id) }
                }
                count += Int64(batch.rows.count)
            }
            guard count == rows else {
                throw SourceError(.changed, at: path, "the file has \(count) rows, but \(rows) were written")
            }
        } catch {
            throw SinkError(error.code == .notReadable ? .failed : .changed, at: path, error.reason)
        }
    }
}
