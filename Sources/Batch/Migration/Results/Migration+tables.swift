import ReceiptBridgeBase
import ReceiptBridgeComparison

extension Migration {
    /// Checks that the flat tables have names of their own that state a format.
    static func check(_ tables: [FlatTable: String], _ options: MigrationOptions) throws(RunError) {
        guard tables.isEmpty || options.persisted.withAPI else {
            throw .notPossible("--transactions and --subscriptions need --with-api, which looks them up")
        }
        var names = [options.source, options.destination, options.progressPath] + options.reports
        for path in tables.values {
            try running { _ = try format(ofTable: path) }
            guard !names.contains(path) else { throw .notPossible("\(path) cannot be used for two files of one run") }
            names.append(path)
        }
    }

    /// Returns the format that the extension of a file name states.
    private static func format(ofTable path: String) throws(SinkError) -> TextFormat {
        switch try? ResultWriters.kind(of: path) {
        case .csv?: return .csv
        case .jsonLines?: return .jsonLines
        case .table?, nil: throw SinkError(.unknownKind, at: path, "the name must end in .csv or .jsonl")
        }
    }

    /// Writes the flat tables that the options name, from the progress file, in the formats of results. Each replaces
    /// an existing file when it is complete.
    func writeTables() throws(RunError) {
        for (table, path) in options.tables {
            try running {
                let names = table.columns.map(\.name)
                let keys = names.map { JSONKey($0) }
                let format = try Self.format(ofTable: path)
                try ReportFile.write(to: path) { file in
                    if format == .csv { try file.append(CSVFormat.header(names)) }
                    try forEachResult { result in
                        for row in table.rows(of: result) {
                            try file.append(format == .csv ? CSVFormat.line(row) : JSONLinesFormat.line(zip(keys, row)))
                        }
                    }
                }
            }
        }
    }
}
