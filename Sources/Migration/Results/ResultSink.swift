package import StoredRows

/// A destination of results, which are written in order.
///
/// Ids are unique in all formats. If a run crashes, opening the sink at the position of the last checkpoint discards
/// all rows after it.
package protocol ResultSink {
    /// Writes a row, which is durable after the next checkpoint. After an error, the sink cannot be used any more and
    /// has to be opened again.
    mutating func write(_ row: ResultRow) throws(SinkError) -> WriteResult

    /// Makes all rows durable and returns the position of the sink.
    mutating func checkpoint() throws(SinkError) -> SinkPosition

    /// Makes the last checkpoint and closes the sink. The destination is then a single file.
    mutating func close() throws(SinkError)
}

/// Result of writing a row.
package enum WriteResult: Sendable, Hashable {
    case written
    /// Another row has the same id, so nothing was written.
    case repeatedId
}

/// Position of a sink at a checkpoint.
package struct SinkPosition: Sendable, Hashable, Codable {
    /// Number of rows.
    package let rows: Int64
    /// Size of the file in bytes; 0 for a database.
    package let bytes: Int64

    /// Creates a position.
    package init(rows: Int64, bytes: Int64) {
        self.rows = rows
        self.bytes = bytes
    }

    /// Position before the first checkpoint.
    package static let start = SinkPosition(rows: 0, bytes: 0)
}
