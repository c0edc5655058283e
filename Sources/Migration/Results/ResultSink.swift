package import StoredRows

/// Where results go, a row each, in the order of writing.
///
/// Ids stay unique whatever the format. Of a run that dies nothing is left behind that was not there at its last
/// checkpoint, once the sink is opened at that position again.
package protocol ResultSink {
    /// Takes a row; it is durable after the next checkpoint. After an error the sink takes nothing more: open it anew.
    mutating func write(_ row: ResultRow) throws(SinkError) -> WriteResult

    /// Makes everything written so far durable, and says where the sink stands.
    mutating func checkpoint() throws(SinkError) -> SinkPosition

    /// The last checkpoint; the destination is one plain file then. The sink takes nothing more.
    mutating func close() throws(SinkError)
}

/// What became of a row that was written.
package enum WriteResult: Sendable, Hashable {
    case written
    /// Another row has this id; nothing was written.
    case repeatedId
}

/// Where a sink stood at a checkpoint.
package struct SinkPosition: Sendable, Hashable, Codable {
    /// How many results there are.
    package let rows: Int64
    /// How long the file is; 0 in a database.
    package let bytes: Int64

    package init(rows: Int64, bytes: Int64) {
        self.rows = rows
        self.bytes = bytes
    }

    /// Before the first checkpoint.
    package static let start = SinkPosition(rows: 0, bytes: 0)
}
