import Foundation

/// Opens sources by path.
package enum Sources {
    /// Opens a source: a directory, `-` for standard input, or a file with the extension `.jsonl`, `.csv`, `.tsv` or
    /// `.txt`, each also with `.gz`, or `.sqlite` or `.db`. A file with another extension is a text file if the options
    /// name its format.
    ///
    /// - Parameters:
    ///   - position: Position to resume from; `nil` for the beginning. The caller checks that the source has not
    ///     changed, see ``RowSource/comparison(with:)``.
    ///   - use: Purpose of the source. A filter reads only JSON Lines and CSV.
    ///   - standardInput: File descriptor to read for `-`.
    package static func open(
        _ path: String, options: SourceOptions = SourceOptions(), limits: SourceLimits = SourceLimits(),
        at position: SourcePosition? = nil, for use: SourceUse = .resumable, standardInput: Int32 = 0
    ) throws(SourceError) -> any RowSource {
        if path == "-" {
            let stream = StandardInput(descriptor: standardInput)
            guard use == .resumable else { return try text(options.format, stream, options, limits, nil, use) }
            guard options.format != .csv else {
                throw SourceError(.unknownKind, at: stream.name, "only a filter (--to -) reads CSV from standard input")
            }
            return try JSONLinesSource(stream, options: options, limits: limits, at: position, keepsDigest: true)
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw SourceAdvice.error(forMissing: path)
        }
        let kind = try kind(of: path, isDirectory: isDirectory.boolValue, options.format)
        switch kind {
        case .text(let format, let isCompressed):
            return try text(format, stream(path, isCompressed: isCompressed), options, limits, position, use)
        case .directory, .table:
            guard use == .resumable else {
                throw SourceError(.unknownKind, at: path, "a filter (--to -) reads standard input, JSON Lines or CSV")
            }
            if case .table = kind { return try TableSource(path: path, options: options, limits: limits, at: position) }
            return try DirectorySource(path: path, limits: limits, at: position)
        }
    }

    enum Kind {
        case directory, table
        case text(TextFormat, isCompressed: Bool)
    }

    /// Determines the kind of a source by its name, and by the format if the name does not state one.
    static func kind(of path: String, isDirectory: Bool, _ format: TextFormat?) throws(SourceError) -> Kind {
        var name = path.lowercased()
        let isCompressed = name.hasSuffix(".gz")
        if isCompressed { name.removeLast(3) }
        let stated: Kind? =
            if isDirectory {
                .directory
            } else if name.hasSuffix(".jsonl") {
                .text(.jsonLines, isCompressed: isCompressed)
            } else if name.hasSuffix(".csv") || name.hasSuffix(".tsv") {
                .text(.csv, isCompressed: isCompressed)
            } else if !isCompressed, name.hasSuffix(".sqlite") || name.hasSuffix(".db") {
                .table
            } else { nil }
        switch (stated, format) {
        case (let stated?, nil): return stated
        case (nil, let format?): return .text(format, isCompressed: isCompressed)
        case (.text(let stated, _)?, let format?) where stated == format:
            return .text(format, isCompressed: isCompressed)
        case (_?, let format?):
            throw SourceError(.unknownKind, at: path, "its name does not agree with --input-format \(format.rawValue)")
        case (nil, nil):
            guard name.hasSuffix(".txt") else { throw SourceAdvice.error(for: path) }
            return .text(try Self.format(ofText: path, isCompressed: isCompressed), isCompressed: isCompressed)
        }
    }

    /// Returns the format of a text: JSON Lines if it begins with an object.
    private static func format(ofText path: String, isCompressed: Bool) throws(SourceError) -> TextFormat {
        var window = ByteWindow(try stream(path, isCompressed: isCompressed), capacity: 1 << 12)
        try window.extend()
        // White space, and the byte order mark.
        let skipped: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        let first = window.read { bytes in bytes.indices.first { !skipped.contains(bytes[$0]) }.map { bytes[$0] } }
        return first == UInt8(ascii: "{") ? .jsonLines : .csv
    }

    private static func stream(_ path: String, isCompressed: Bool) throws(SourceError) -> any ByteStream {
        if isCompressed { try GzipStream(path: path) } else { try FileStream(path: path) }
    }

    /// Opens a stream of text; of JSON Lines if there is no format.
    private static func text(
        _ format: TextFormat?, _ stream: any ByteStream, _ options: SourceOptions, _ limits: SourceLimits,
        _ position: SourcePosition?, _ use: SourceUse
    ) throws(SourceError) -> any RowSource {
        switch format {
        case .jsonLines?, nil: try JSONLinesSource(stream, options: options, limits: limits, at: position, for: use)
        case .csv?: try CSVSource(stream, options: options, limits: limits, at: position, for: use)
        }
    }
}
