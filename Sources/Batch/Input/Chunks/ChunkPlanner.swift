package import ReceiptBridgeStorage

/// Divides a source into chunks, in order. Only one worker does it.
///
/// In a `.jsonl` file it reads only the line at the end of each chunk. Records of a `.csv` file can contain line
/// breaks, so it reads the whole file once, without decoding receipts. Of a table and a directory it reads keys and
/// names.
package struct ChunkPlanner {
    private let source: SplittableSource
    private let size: ChunkSize
    /// Where the next chunk begins; `nil` for the beginning.
    private var place: String?
    /// Reads the rows; `nil` for a `.jsonl` file.
    private var rows: (any RowSource)?
    private var isAtEnd = false

    /// - Parameter chunk: the last chunk of an earlier planner; `nil` to start at the beginning.
    package init(_ source: SplittableSource, size: ChunkSize, after chunk: ImportChunk?) throws(SourceError) {
        self.source = source
        self.size = size
        place = chunk?.last
        guard source.kind != .jsonLines else { return }
        rows = try source.open(at: place, limits: source.kind == .csv ? nil : source.namesOnly)
    }

    package mutating func next() throws(SourceError) -> ImportChunk? {
        guard !isAtEnd else { return nil }
        let chunk = rows == nil ? try nextLines() : try nextRows()
        guard let chunk else {
            isAtEnd = true
            return nil
        }
        place = chunk.last
        return chunk
    }

    /// Returns the lines up to the first line break after the size of a chunk.
    private func nextLines() throws(SourceError) -> ImportChunk? {
        let file = try FileStream(path: source.path)
        let start = place.flatMap { Int64($0) } ?? 0
        let end = try file.size()
        guard start < end else { return nil }
        let wanted = start + max(size.bytes, 1)
        guard wanted < end else { return ImportChunk(first: place, last: "\(end)", rows: nil) }
        var window = ByteWindow(file, capacity: 1 << 14)
        try window.skip(wanted - 1)
        while !window.isAtEnd {
            if let index = window.read({ $0.firstIndex(of: UInt8(ascii: "\n"), from: 0, to: $0.count) }) {
                return ImportChunk(first: place, last: "\(window.offset + Int64(index) + 1)", rows: nil)
            }
            window.drop(window.count)
            try window.extend()
        }
        return ImportChunk(first: place, last: "\(end)", rows: nil)
    }

    private mutating func nextRows() throws(SourceError) -> ImportChunk? {
        var (count, bytes) = (0 as Int64, 0 as Int64)
        var last: String?
        guard var rows else { return nil }
        defer { self.rows = rows }
        while count < size.rows, bytes < size.bytes {
            let (room, byteRoom) = (Int(min(size.rows - count, 256)), Int(clamping: size.bytes - bytes))
            guard let batch = try rows.next(maximumRows: room, maximumBytes: byteRoom) else { break }
            count += Int64(batch.rows.count)
            for row in batch.rows { bytes += Int64(row.value.size) }
            last = batch.end.place
        }
        return last.map { ImportChunk(first: place, last: $0, rows: count) }
    }
}
