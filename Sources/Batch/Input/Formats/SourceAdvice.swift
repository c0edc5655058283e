import ReceiptBridgeBase
import Foundation

/// Explains how to make a source of what is not one, with a command that can be copied into a shell.
enum SourceAdvice {
    /// Returns the error for a file of a format that is not read, by the usual extension of the format.
    static func error(for path: String, as ending: String) -> SourceError {
        let (what, advice) = advice(for: ending, name: path.lowercased(), file: isPlain(path) ? path : "FILE")
        return SourceError(.unknownKind, at: path, what, advice: advice)
    }

    /// Returns the error for JSON that is not one object on each line.
    static func error(for path: String, _ form: JSONForm) -> SourceError {
        let filter =
            switch form {
            case .array(ofObjects: true): ".[]"
            case .array(ofObjects: false): ".[] | {receipt: .}"
            case .wrapped(let key):
                key.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) == nil ? ".[] | arrays | .[]" : ".\(key)[]"
            case .printed, .lines: "."
            }
        return SourceError(
            .unknownKind, at: path, "JSON needs one object on each line",
            advice: "use: jq -c '\(filter)' \(isPlain(path) ? path : "FILE") | receipt-bridge … -")
    }

    static func error(forMissing path: String) -> SourceError {
        if let error = error(forAddress: path) { return error }
        if let file = path.wholeMatch(of: /sqlite:(?:\/\/)?(.+)/)?.1 {
            return SourceError(.notFound, at: path, "there is no such file", advice: "a source is a path: \(file)")
        }
        return SourceError(.notFound, at: path, "there is no such file\(Files.didYouMean(path))")
    }

    static func command(insertingHeader header: String, in path: String) -> String {
        isPlain(path) ? "sed '1i\(header)' \(path) >receipts.csv" : "sed '1i\(header)'"
    }

    static let supported =
        "a source must be a directory, a SQLite database, or JSON Lines or separated values, also compressed by gzip"

    /// Returns the error for an address; `nil` for a path. The error contains the scheme only, because the
    /// rest can contain a password.
    private static func error(forAddress path: String) -> SourceError? {
        guard let end = path.firstRange(of: "://")?.lowerBound else { return nil }
        let scheme = path[..<end].lowercased()
        guard scheme != "sqlite", !scheme.isEmpty,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
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

    private static let compressions = [".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"]

    /// Returns the extension of a name, if it is that of a format with advice.
    static func foreignEnding(of name: String) -> String? {
        let ending = name.split(separator: ".", omittingEmptySubsequences: false).last.map { ".\($0)" } ?? ""
        let others = [".parquet", ".xlsx", ".xls", ".ods", ".sql", ".dump", ".zip"]
        return others.contains(ending) || compressions[ending] != nil ? ending : nil
    }

    /// Returns what a format is called, and the advice for it.
    private static func advice(for ending: String, name: String, file: String) -> (what: String, advice: String?) {
        switch ending {
        case ".parquet":
            let command = "duckdb -c \"COPY (FROM '\(file)') TO '/dev/stdout' (FORMAT json)\""
            return ("Parquet is not read directly", "use: \(command) | receipt-bridge … -")
        case ".xlsx", ".xls", ".ods":
            let command = "import pandas as p; p.read_excel('\(file)', dtype=str).to_csv('receipts.csv', index=False)"
            return (
                "a spreadsheet is not read directly, and its cells cut text off after 32,767 characters",
                "save it as CSV, or use: python3 -c \"\(command)\""
            )
        case ".sql", ".dump":
            return ("a dump is not read directly", "load it into a database and use: \(mysql), or: \(psql)")
        case ".zip": return ("an archive is not read directly", "use: unzip \(file)")
        default:
            let tool = compressions[ending] ?? "gzip"
            // Only with its usual name does the tool know how to call the result.
            let isStream = name.hasSuffix(".jsonl\(ending)") || !name.hasSuffix(ending)
            let command = isStream ? "-dc \(file) | receipt-bridge … -" : "-dk \(file)"
            return ("\(tool) is not read directly", "use: \(tool) \(command)")
        }
    }

    /// Whether a path needs no quotes in a shell.
    private static func isPlain(_ path: String) -> Bool {
        !path.hasPrefix("-")
            && path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-/+=@%,".contains($0)) }
    }
}
