package import ReceiptBridgeBase
import ReceiptBridgeStorage

/// Opens sinks by path.
package enum ResultWriters {
    /// Opens a sink for a path with the extension `.jsonl`, `.csv`, `.sqlite` or `.db`.
    ///
    /// - Parameters:
    ///   - format: Format of a text file whose name has another extension. Must not change while the destination
    ///     exists.
    ///   - withAPI: Adds the columns of ``APIColumns``. Must not change while the destination exists.
    ///   - position: Position to resume from; rows after it are discarded. `nil` for a new destination, at whose path
    ///     only an empty file may exist. ``SinkPosition/start`` for a destination of this migration, whether it exists
    ///     or not.
    package static func open(
        _ path: String, format: TextFormat? = nil, withAPI: Bool, at position: SinkPosition? = nil
    ) throws(SinkError) -> any ResultSink {
        let columns = ResultColumn.all(withAPI: withAPI)
        guard let format = try self.format(of: path, format) else {
            return try TableSink(path: path, columns, at: position)
        }
        return try TextSink(path: path, format, columns, at: position)
    }

    /// Determines the format by the file name extension, and by `other` if the extension does not state one.
    ///
    /// - Returns: `nil` for a database.
    @discardableResult
    static func format(of path: String, _ other: TextFormat? = nil) throws(SinkError) -> TextFormat? {
        let stated: TextFormat?
        switch path.split(separator: ".").last?.lowercased() {
        case "jsonl": stated = .jsonLines
        case "csv": stated = .csv
        case "sqlite", "db": stated = nil
        case _ where other != nil: return other
        default: throw SinkError(.unknownKind, at: path, "a destination must be a .jsonl, .csv, .sqlite or .db file")
        }
        if let other, stated != other {
            let reason = "its name does not agree with --output-format \(other.rawValue)"
            throw SinkError(.unknownKind, at: path, reason)
        }
        return stated
    }

    /// Checks that a finished result still contains what was written. Changes nothing.
    static func check(_ path: String, holds position: SinkPosition) throws(SinkError) {
        guard position.bytes == 0 else { return try OutputFile.check(path, holds: position.bytes) }
        guard position.rows > 0 else { return }
        try TableSink.check(path: path, holds: position.rows)
    }
}

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

    package init(rows: Int64, bytes: Int64) {
        self.rows = rows
        self.bytes = bytes
    }

    /// Position before the first checkpoint.
    package static let start = SinkPosition(rows: 0, bytes: 0)
}
