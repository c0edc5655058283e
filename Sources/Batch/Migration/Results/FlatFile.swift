import Base
import Reports

/// A `.jsonl` or `.csv` file with the rows of a flat table, in the formats of results. It replaces an existing file
/// when it is complete.
struct FlatFile {
    private let table: FlatTable
    private let line: @Sendable ([ResultColumn.Value]) -> [UInt8]
    private var file: ReportFile

    /// Starts a file.
    init(_ table: FlatTable, path: String) throws(SinkError) {
        self.table = table
        let names = table.columns.map(\.name)
        let format = try Self.format(of: path)
        file = try ReportFile(path: path)
        switch format {
        case .csv:
            line = { CSVFormat.line($0) }
            try file.append(CSVFormat.header(names))
        case .jsonLines:
            let keys = names.map { JSONKey($0) }
            line = { JSONLinesFormat.line(zip(keys, $0)) }
        }
    }

    /// Checks that the file name extension states a format.
    static func check(_ path: String) throws(SinkError) { _ = try format(of: path) }

    private static func format(of path: String) throws(SinkError) -> TextFormat {
        switch try? ResultWriters.kind(of: path) {
        case .csv?: return .csv
        case .jsonLines?: return .jsonLines
        case .table?, nil: throw SinkError(.unknownKind, at: path, "the name must end in .csv or .jsonl")
        }
    }

    /// Writes the rows that a row of the result has in the table.
    mutating func write(_ result: ResultRow) throws(SinkError) {
        for row in table.rows(of: result) { try file.append(line(row)) }
    }

    /// Makes the file durable and puts it in its place.
    mutating func finish() throws(SinkError) { try file.finish() }
}

extension Migration {
    /// Checks that the flat tables have names of their own that state a format.
    static func check(_ tables: [FlatTable: String], _ options: MigrationOptions) throws(RunError) {
        guard tables.isEmpty || options.persisted.withAPI else {
            throw .notPossible("--transactions and --subscriptions need --with-api, which looks them up")
        }
        var names = [options.source, options.destination, options.progressPath] + options.reports
        for path in tables.values {
            try running { try FlatFile.check(path) }
            guard !names.contains(path) else { throw .notPossible("\(path) cannot be used for two files of one run") }
            names.append(path)
        }
    }

    /// Writes the flat tables that the options name, from the progress file.
    func writeTables() throws(RunError) {
        for (table, path) in options.tables {
            try running {
                var file = try FlatFile(table, path: path)
                try forEachResult { result, _ in try file.write(result) }
                try file.finish()
            }
        }
    }
}
