/// A part of a source that one worker reads. The parts of a source follow each other without gaps.
package struct SourceChunk: Sendable, Hashable {
    /// Place where the chunk begins; `nil` for the beginning of the source.
    package let first: String?
    /// Place where the chunk ends and the next one begins.
    package let last: String
    /// Number of rows; `nil` if they were not counted, because the chunk is a range of bytes.
    package let rows: Int64?
}

/// Maximum size of a chunk. It ends at the first limit that is reached.
package struct ChunkSize: Sendable, Hashable {
    package var rows: Int64
    package var bytes: Int64

    package init(rows: Int64 = 2_000, bytes: Int64 = 8 << 20) {
        self.rows = rows
        self.bytes = bytes
    }
}
