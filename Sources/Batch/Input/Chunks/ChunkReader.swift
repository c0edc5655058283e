package import ReceiptBridgeStorage

/// Reads the rows of one chunk. They are numbered from 1.
package struct ChunkReader {
    private let path: String
    private let chunk: ImportChunk
    private var source: any RowSource
    private var count: Int64 = 0
    private var place: String?

    package init(_ source: SplittableSource, _ chunk: ImportChunk) throws(SourceError) {
        self.chunk = chunk
        path = source.path
        place = chunk.first
        if source.kind == .jsonLines, let end = Int64(chunk.last) {
            let file = try FileStream(path: path, end: end)
            guard try file.size() >= end else { throw SourceError(.changed, at: path, Self.changed) }
            self.source = try JSONLinesSource(
                file, options: source.options, limits: source.limits,
                at: chunk.first.map { SourcePosition(place: $0, nextRowNumber: 1) })
        } else {
            self.source = try source.open(at: chunk.first)
        }
    }

    /// Returns the next rows; `nil` at the end of the chunk. Throws `changed` if the rows are not those that were
    /// planned.
    package mutating func next(maximumRows: Int, maximumBytes: Int) throws(SourceError) -> [SourceRow]? {
        guard let rows = chunk.rows else {
            return try source.next(maximumRows: maximumRows, maximumBytes: maximumBytes)?.rows
        }
        guard count < rows else {
            guard place == chunk.last else { throw SourceError(.changed, at: path, Self.changed) }
            return nil
        }
        guard
            let batch = try source.next(
                maximumRows: Int(min(Int64(maximumRows), rows - count)), maximumBytes: maximumBytes)
        else { throw SourceError(.changed, at: path, Self.changed) }
        count += Int64(batch.rows.count)
        place = batch.end.place
        return batch.rows
    }

    private static let changed = "it has changed since it was divided into chunks"
}
