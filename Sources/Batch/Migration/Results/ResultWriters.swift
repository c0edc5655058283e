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
        return switch try kind(of: path, format) {
        case .jsonLines: try TextSink(path: path, JSONLinesFormat(columns), at: position)
        case .csv: try TextSink(path: path, CSVFormat(columns), at: position)
        case .table: try TableSink(path: path, columns, at: position)
        }
    }

    /// Returns a text format without the columns of the App Store Server API and of the source.
    static func format(_ format: TextFormat) -> any ResultFormat {
        let columns = ResultColumn.all(withAPI: false, isFilter: true)
        return switch format {
        case .jsonLines: JSONLinesFormat(columns)
        case .csv: CSVFormat(columns)
        }
    }

    enum Kind { case jsonLines, csv, table }

    /// Determines the format by the file name extension, and by `format` if the extension does not state one.
    static func kind(of path: String, _ format: TextFormat? = nil) throws(SinkError) -> Kind {
        let stated: Kind? =
            switch path.split(separator: ".").last?.lowercased() {
            case "jsonl": .jsonLines
            case "csv": .csv
            case "sqlite", "db": .table
            default: nil
            }
        let chosen = format.map { $0 == .csv ? Kind.csv : .jsonLines }
        guard let kind = stated ?? chosen else {
            throw SinkError(.unknownKind, at: path, "a destination must be a .jsonl, .csv, .sqlite or .db file")
        }
        if let format, kind != chosen {
            let reason = "its name does not agree with --output-format \(format.rawValue)"
            throw SinkError(.unknownKind, at: path, reason)
        }
        return kind
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
