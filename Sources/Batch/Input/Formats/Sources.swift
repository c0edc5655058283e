import ReceiptBridgeBase
import Foundation

/// Opens sources by path.
package enum Sources {
    /// Opens a source: a directory, `-` for standard input, a SQLite database, or text that is JSON Lines or separated
    /// values, also compressed by gzip. The content decides, see ``SourceContent``, unless the options name the format
    /// of a text.
    ///
    /// The position is that to resume from. The caller checks that the source has not changed, see
    /// ``RowSource/comparison(with:)``. A filter reads only JSON Lines and CSV. `standardInput` is the file descriptor
    /// to read for `-`.
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
            var source = try JSONLinesSource(stream, options: options, limits: limits, at: position, keepsDigest: true)
            // Later, because opening must not wait for the program that writes.
            if position == nil { source.unchecked = options }
            return source
        }
        let kind = try kind(of: path, options)
        switch kind {
        case .text(let format, let isCompressed):
            let stream = try Self.stream(path, isCompressed: isCompressed)
            guard format == .jsonLines, position == nil else {
                return try text(format, stream, options, limits, position, use)
            }
            var sample = ByteWindow(stream, capacity: JSONKeys.sampleSize)
            try sample.fill(JSONKeys.sampleSize)
            let notices = try JSONKeys.notices(of: &sample, options, canSearch: true)
            let whole = try Self.stream(path, isCompressed: isCompressed)
            var source = try JSONLinesSource(whole, options: options, limits: limits, at: nil, for: use)
            if use == .resumable { source.notices = notices }
            return source
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

    static func kind(of path: String, _ options: SourceOptions) throws(SourceError) -> Kind {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw SourceAdvice.error(forMissing: path)
        }
        if isDirectory.boolValue { return try .directory.unless(options.format, at: path) }
        let beginning = try FileStream(path: path).bytes(at: 0, count: SourceContent.sampleSize)
        let content = SourceContent(signatureOf: beginning.span)
        switch content {
        case .database?: return try .table.unless(options.format, at: path)
        case .foreign(let ending)?: throw SourceAdvice.error(for: path, as: ending)
        default: break
        }
        let isCompressed = content == .gzip
        if let format = options.format { return .text(format, isCompressed: isCompressed) }
        return try kind(ofText: path, isCompressed: isCompressed, options)
    }

    /// Determines the format of a text. If its first line tells nothing, the name does.
    private static func kind(
        ofText path: String, isCompressed: Bool, _ options: SourceOptions
    ) throws(SourceError) -> Kind {
        var name = path.lowercased()
        if isCompressed, name.hasSuffix(".gz") { name.removeLast(3) }
        var window = ByteWindow(try stream(path, isCompressed: isCompressed), capacity: SourceContent.sampleSize)
        try window.fill(SourceContent.sampleSize)
        let isWhole = window.isAtEnd
        let content = window.read { SourceContent(text: $0, isWhole: isWhole, options) }
        let isNamed = name.hasSuffix(".jsonl")
        switch content {
        case .json(.lines): return .text(.jsonLines, isCompressed: isCompressed)
        case .json(let form): throw SourceAdvice.error(for: path, form)
        case .foreign(let ending): throw SourceAdvice.error(for: path, as: ending)
        case .empty where path.lowercased().hasSuffix(".gz") && !isCompressed: throw GzipStream.damage(at: path)
        case .empty where isNamed: return .text(.jsonLines, isCompressed: isCompressed)
        default: break
        }
        if let ending = SourceAdvice.foreignEnding(of: name) { throw SourceAdvice.error(for: path, as: ending) }
        if !isCompressed, [".sqlite", ".sqlite3", ".db", ".db3"].contains(where: name.hasSuffix) { return .table }
        let isText = [".csv", ".tsv", ".txt"].contains(where: name.hasSuffix)
        guard content != .binary || isNamed || isText else {
            throw SourceError(.unknownKind, at: path, SourceAdvice.supported)
        }
        return .text(isNamed && !window.hasHeader(options) ? .jsonLines : .csv, isCompressed: isCompressed)
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

extension Sources.Kind {
    /// Returns this kind, which is not text, unless the format of a text is given.
    fileprivate func unless(_ format: TextFormat?, at path: String) throws(SourceError) -> Self {
        guard let format else { return self }
        throw SourceError(
            .unknownKind, at: path, "this is not text, so it is not read as --input-format \(format.rawValue)")
    }
}

extension ByteWindow {
    /// Reads until the window has this many bytes, or the stream has ended. A failure after the first bytes is left to
    /// the reader of these.
    mutating func fill(_ size: Int) throws(SourceError) {
        while !isAtEnd, count < size {
            do throws(SourceError) { try extend() } catch {
                guard count > 0 else { throw error }
                return
            }
        }
    }

    /// Whether the text begins with a header that names the columns, or with rows of receipts.
    fileprivate func hasHeader(_ options: SourceOptions) -> Bool {
        var window = self
        do throws(SourceError) {
            _ = try window.takeHeader(options)
            return true
        } catch {
            return error.advice != nil
        }
    }
}
