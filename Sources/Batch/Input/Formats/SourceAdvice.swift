/// What to do with a source that is not read directly: a command that turns it into one that is.
enum SourceAdvice {
    /// Returns the error for a path whose name states no supported kind.
    static func error(for path: String) -> SourceError {
        if let error = error(forAddress: path) { return error }
        guard let (what, advice) = advice(for: path.lowercased(), file: isPlain(path) ? path : "FILE") else {
            return SourceError(.unknownKind, at: path, supported)
        }
        return SourceError(.unknownKind, at: path, what, advice: advice)
    }

    /// Returns the error for a path without a file.
    static func error(forMissing path: String) -> SourceError {
        error(forAddress: path) ?? SourceError(.notFound, at: path, "there is no such file")
    }

    private static let supported = """
        a source must be a directory or a .jsonl, .csv, .tsv, .txt (each also .gz), .sqlite or .db file; \
        migrate --input-format csv or jsonl reads text with another name
        """

    /// Returns the error for an address; `nil` for a path. The error contains the scheme only, because the
    /// rest can contain a password.
    private static func error(forAddress path: String) -> SourceError? {
        guard let end = path.firstRange(of: "://")?.lowerBound else { return nil }
        let scheme = path[..<end].lowercased()
        guard !scheme.isEmpty, scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
        else { return nil }
        let command =
            switch scheme {
            case "mysql", "mariadb": mysql
            case "postgres", "postgresql": psql
            case "mongodb", "mongodb+srv": "mongoexport --uri ADDRESS --collection receipts --out receipts.jsonl"
            case "s3": "aws s3 cp ADDRESS ."
            case "gs": "gcloud storage cp ADDRESS ."
            case "http", "https": "curl -fO ADDRESS"
            default: "a program that copies or exports it"
            }
        return SourceError(
            .unknownKind, at: "\(scheme)://…", "an address is not read directly", advice: "make a file with: \(command)"
        )
    }

    private static let mysql = "mysql --batch -e 'SELECT id, receipt FROM receipts' DATABASE >receipts.tsv"
    private static let psql = "psql --csv -c 'SELECT id, receipt FROM receipts' DATABASE >receipts.csv"

    /// Returns what a kind of file is called, and the advice for it; `nil` if the kind is unknown.
    private static func advice(for name: String, file: String) -> (what: String, advice: String)? {
        let compressions = [".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"]
        switch name.split(separator: ".", omittingEmptySubsequences: false).last.map({ ".\($0)" }) {
        case ".parquet":
            let command = "duckdb -c \"COPY (FROM '\(file)') TO '/dev/stdout' (FORMAT json)\""
            return ("Parquet is not read directly", "use: \(command) | receipt-bridge … -")
        case ".json":
            return ("JSON needs one object on each line", "use: jq -c '.[]' \(file) | receipt-bridge … -")
        case ".xlsx", ".xls", ".ods":
            let command = "import pandas as p; p.read_excel('\(file)', dtype=str).to_csv('receipts.csv', index=False)"
            return (
                "a spreadsheet is not read directly, and its cells cut text off after 32,767 characters",
                "save it as CSV, or use: python3 -c \"\(command)\""
            )
        case ".sql", ".dump":
            return ("a dump is not read directly", "load it into a database and use: \(mysql), or: \(psql)")
        case ".zip": return ("an archive is not read directly", "use: unzip \(file)")
        case let ending?:
            guard let tool = compressions[ending] else { return nil }
            let isLines = name.hasSuffix(".jsonl\(ending)")
            let command = isLines ? "-dc \(file) | receipt-bridge … -" : "-dk \(file)"
            return ("\(tool) is not read directly", "use: \(tool) \(command)")
        case nil: return nil
        }
    }

    /// Whether a path needs no quotes in a shell.
    private static func isPlain(_ path: String) -> Bool {
        !path.hasPrefix("-")
            && path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-/+=@%,".contains($0)) }
    }
}
