import Foundation

/// Opens sources by path.
package enum Sources {
    /// Opens a source: a directory, `-` for JSON Lines from standard input, or a file with the extension `.jsonl`,
    /// `.csv`, `.jsonl.gz`, `.csv.gz`, `.sqlite` or `.db`.
    ///
    /// - Parameters:
    ///   - path: Path of the source.
    ///   - options: Names of columns, keys and table.
    ///   - limits: Limits on the size of rows and buffers.
    ///   - position: Position to resume from; `nil` for the beginning. The caller checks that the source has not
    ///     changed, see ``RowSource/comparison(with:)``.
    ///   - standardInput: File descriptor to read for `-`.
    package static func open(
        _ path: String, options: SourceOptions = SourceOptions(), limits: SourceLimits = SourceLimits(),
        at position: SourcePosition? = nil, standardInput: Int32 = 0
    ) throws(SourceError) -> any RowSource {
        if path == "-" {
            let stream = StandardInput(descriptor: standardInput)
            return try JSONLinesSource(stream, options: options, limits: limits, at: position, keepsDigest: true)
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw SourceError(.notFound, at: path, "there is no such file")
        }
        guard !isDirectory.boolValue else { return try DirectorySource(path: path, limits: limits, at: position) }
        let name = path.lowercased()
        func named(_ endings: String...) -> Bool { endings.contains { name.hasSuffix($0) } }
        if named(".jsonl", ".jsonl.gz") {
            let stream = try stream(path, isCompressed: named(".gz"))
            return try JSONLinesSource(stream, options: options, limits: limits, at: position)
        }
        if named(".csv", ".csv.gz") {
            let stream = try stream(path, isCompressed: named(".gz"))
            return try CSVSource(stream, options: options, limits: limits, at: position)
        }
        if named(".sqlite", ".db") {
            return try TableSource(path: path, options: options, limits: limits, at: position)
        }
        let reason = "a source must be a directory or a .jsonl, .csv, .jsonl.gz, .csv.gz, .sqlite or .db file"
        throw SourceError(.unknownKind, at: path, reason)
    }

    private static func stream(_ path: String, isCompressed: Bool) throws(SourceError) -> any ByteStream {
        if isCompressed { try GzipStream(path: path) } else { try FileStream(path: path) }
    }
}
