/// A part of a source that one worker reads. The parts of a source follow each other without gaps.
package struct SourceChunk: Sendable, Hashable {
    /// Place where the chunk begins; `nil` for the beginning of the source.
    package let first: String?
    /// Place where the chunk ends and the next one begins.
    package let last: String
    /// Number of rows; `nil` if they were not counted, because the chunk is a range of bytes.
    package let rows: Int64?
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

/// What identifies a source on every machine that reads it.
package struct SourceFingerprint: Sendable, Hashable, Codable {
    /// The kind of source.
    package let kind: SourceIdentity.Kind
    /// Size of a file in bytes, or the largest rowid of a table; `nil` for a directory.
    package let size: Int64?
    /// SHA-256 in hexadecimal of samples.
    package let digest: String

    /// Returns how this source differs from the one that another worker reads; `nil` if they are the same.
    package func difference(from other: SourceFingerprint) -> String? {
        if kind != other.kind { return "it is of the kind \(kind.rawValue), not \(other.kind.rawValue)" }
        if size != other.size { return "it ends at \(Self.text(size)), not at \(Self.text(other.size))" }
        return digest == other.digest ? nil : "its content differs"
    }

    private static func text(_ size: Int64?) -> String { size.map { "\($0)" } ?? "an unknown place" }
}
