import ReceiptBridgeCryptography

/// A source that several processes, also on several machines, read in parts: an uncompressed `.jsonl` or `.csv` file, a
/// SQLite table, or a directory. Each machine can have a copy of it, at any path.
///
/// Compressed files and standard input can only be read from the beginning, so they are rejected.
package struct SplittableSource: Sendable {
    let path: String
    let options: SourceOptions
    let limits: SourceLimits
    package let kind: SourceIdentity.Kind
    /// See ``RowSource/notices``.
    let notices: [String]

    /// - Throws: ``SourceError``; `notSplittable` for a compressed file and for standard input.
    package init(
        _ path: String, options: SourceOptions = SourceOptions(), limits: SourceLimits = SourceLimits()
    ) throws(SourceError) {
        self.path = path
        self.options = options
        self.limits = limits
        switch path == "-" ? nil : try Sources.kind(of: path, options) {
        case .directory?: kind = .directory
        case .table?: kind = .table
        case .text(let format, isCompressed: false)?: kind = format == .csv ? .csv : .jsonLines
        case .text(_, isCompressed: true)?, nil:
            throw SourceError(
                .notSplittable, at: path,
                "several workers cannot share it; use an uncompressed .jsonl or .csv file, a database or a directory")
        }
        if kind == .jsonLines || kind == .csv {
            let beginning = try FileStream(path: path).bytes(at: 0, count: 4)
            guard UTF16Decoder(beginning.span) == nil else {
                let reason = "several workers cannot share UTF-16; convert it with: iconv -f utf-16 -t utf-8"
                throw SourceError(.notSplittable, at: path, reason)
            }
        }
        notices = try Sources.open(path, options: options, limits: limits).notices
    }

    func open(at place: String? = nil, limits: SourceLimits? = nil) throws(SourceError) -> any RowSource {
        try Sources.open(
            path, options: options, limits: limits ?? self.limits,
            at: place.map { SourcePosition(place: $0, nextRowNumber: 1) })
    }

    /// Returns what identifies the source on every machine that reads it. Reads at most 320 KiB of a file, and the
    /// names of the first files of a directory.
    package func fingerprint() throws(SourceError) -> SourceIdentity {
        switch kind {
        case .jsonLines, .csv: return try fileFingerprint()
        case .directory: return try directoryFingerprint()
        case .table, .standardInput: return try open().identity
        }
    }

    /// The samples: the first and the last 4 KiB of 64 equal parts, the beginning and the end among them.
    private func fileFingerprint() throws(SourceError) -> SourceIdentity {
        let file = try FileStream(path: path)
        let size = try file.size()
        let (parts, sample) = (64 as Int64, 4 << 10)
        var samples: [UInt8] = []
        for part in 0...parts {
            let offset = min(size / parts * part, max(size - Int64(sample), 0))
            samples += try file.bytes(at: offset, count: sample)
        }
        return SourceIdentity(kind: kind, size: size, digest: SHA.hex(samples, with: .sha256))
    }

    /// The samples: the paths of the first 1,000 files.
    private func directoryFingerprint() throws(SourceError) -> SourceIdentity {
        var source = try open(limits: namesOnly)
        let rows = try source.next(maximumRows: 1_000, maximumBytes: .max)?.rows ?? []
        let names = rows.map { $0.id ?? "" }.joined(separator: "\n")
        return SourceIdentity(kind: kind, size: nil, digest: SHA.hex(Array(names.utf8), with: .sha256))
    }

    /// Limits with which the values of a table or directory are not read.
    var namesOnly: SourceLimits {
        var limits = limits
        limits.row = 0
        return limits
    }
}

/// Maximum size of a chunk. It ends at the first limit that is reached.
package struct ChunkSize: Sendable, Hashable {
    package var rows: Int64
    package var bytes: Int64

    package init(rows: Int64 = 2_000, bytes: Int64 = 8 << 20) {
        self.rows = rows
        self.bytes = bytes
    }
}
