import Ledger
package import StoredRows

/// Opens the sink that a path names.
package enum ResultWriters {
    /// A destination ends in `.jsonl`, `.csv`, `.sqlite` or `.db`.
    ///
    /// - Parameters:
    ///   - withAPI: whether the rows have the columns of ``APIColumns``; the same for as long as the destination lives.
    ///   - position: what lies beyond is thrown away. Nil for a new destination, where nothing may be but an empty
    ///     file; ``SinkPosition/start`` for one that is known to be ours, there or not.
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

    /// By the ending of its name.
    static func kind(of path: String) throws(SinkError) -> Kind {
        switch path.split(separator: ".").last?.lowercased() {
        case "jsonl": return .jsonLines
        case "csv": return .csv
        case "sqlite", "db": return .table
        default:
            throw SinkError(.unknownKind, at: path, "the name of a destination ends in .jsonl, .csv, .sqlite or .db")
        }
    }

    /// Looks whether a finished result has as much in it as was written; changes nothing.
    static func check(_ path: String, holds position: SinkPosition) throws(SinkError) {
        guard position.bytes == 0 else { return try OutputFile.check(path, holds: position.bytes) }
        guard position.rows > 0 else { return }
        try asSinkError { () throws(StorageError) in try ResultsTable.check(path: path, holds: position.rows) }
    }
}
