import Ledger
package import StoredRows

/// Opens sinks by path.
package enum ResultWriters {
    /// Opens a sink for a path with the extension `.jsonl`, `.csv`, `.sqlite` or `.db`.
    ///
    /// - Parameters:
    ///   - path: Path of the destination.
    ///   - withAPI: Adds the columns of ``APIColumns``. Must not change while the destination exists.
    ///   - position: Position to resume from; rows after it are discarded. `nil` for a new destination, at whose path
    ///     only an
    ///     empty file may exist. ``SinkPosition/start`` for a destination of this migration that may exist or not.
    package static func open(
        _ path: String, withAPI: Bool, at position: SinkPosition? = nil
    ) throws(SinkError) -> any ResultSink {
        switch try kind(of: path) {
        case .jsonLines: try TextSink(path: path, JSONLinesFormat(withAPI: withAPI), at: position)
        case .csv: try TextSink(path: path, CSVFormat(withAPI: withAPI), at: position)
        case .table: try TableSink(path: path, withAPI: withAPI, at: position)
        }
    }

    enum Kind { case jsonLines, csv, table }

    /// Determines the format by the file name extension.
    static func kind(of path: String) throws(SinkError) -> Kind {
        switch path.split(separator: ".").last?.lowercased() {
        case "jsonl": return .jsonLines
        case "csv": return .csv
        case "sqlite", "db": return .table
        default:
            throw SinkError(.unknownKind, at: path, "a destination must be a .jsonl, .csv, .sqlite or .db file")
        }
    }

    /// Checks that a finished result still contains what was written. Changes nothing.
    static func check(_ path: String, holds position: SinkPosition) throws(SinkError) {
        guard position.bytes == 0 else { return try OutputFile.check(path, holds: position.bytes) }
        guard position.rows > 0 else { return }
        try asSinkError { () throws(StorageError) in try ResultsTable.check(path: path, holds: position.rows) }
    }
}
