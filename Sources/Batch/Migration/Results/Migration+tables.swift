import ReceiptBridgeBase
import ReceiptBridgeComparison

extension Migration {
    /// Checks that the flat tables have names of their own that state a format.
    static func check(_ tables: [FlatTable: String], _ options: MigrationOptions) throws(RunError) {
        var names = [options.source, options.destination, options.progressPath] + options.reports
        for path in tables.values {
            try running { _ = try format(ofTable: path) }
            guard !names.contains(path) else { throw .notPossible("\(path) cannot be used for two files of one run") }
            names.append(path)
        }
    }

    /// Returns the format that the extension of a file name states.
    private static func format(ofTable path: String) throws(SinkError) -> TextFormat {
        guard let format = try? ResultWriters.format(of: path) else {
            throw SinkError(.unknownKind, at: path, "the name must end in .csv or .jsonl")
        }
        return format
    }

    /// Writes the flat tables that the options name, from the progress file, in the formats of results. Each replaces
    /// an existing file when it is complete.
    func writeTables() throws(RunError) {
        for (table, path) in options.tables {
            try running {
                let text = RowText(try Self.format(ofTable: path), table.columns.map(\.name))
                try ReportFile.write(to: path) { file in
                    try file.append(text.header)
                    try forEachResult { result in
                        for row in table.rows(of: result) { try file.append(text.line(row)) }
                    }
                }
            }
        }
    }
}
