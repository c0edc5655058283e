/// What tells whether a source is still the one that a run began with.
package struct SourceIdentity: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, Codable {
        case jsonLines, csv, table, directory, standardInput
    }

    package let kind: Kind
    /// Bytes of a file, the largest key of a table; nil where there is no end to see.
    let size: Int64?
    /// SHA-256 in hexadecimal digits of what a source of this kind begins with, see its `identity`.
    let digest: String

    /// Whether it would tell that the source has grown.
    package var hasEnd: Bool { size != nil }

    init(kind: Kind, size: Int64?, digest: String) {
        self.kind = kind
        self.size = size
        self.digest = digest
    }
}

/// What became of a source.
package enum SourceComparison: Sendable, Hashable {
    /// As far as can be seen without reading it all.
    case same
    /// It begins as before and has more: a run can go on.
    case grown
    /// It is another one; a sentence that says why.
    case changed(String)
}

extension SourceIdentity {
    /// By kind, digest and size, where the digest covers the same part of both.
    func comparison(with earlier: SourceIdentity, unit: String) -> SourceComparison {
        guard kind == earlier.kind else { return .changed("it was a source of another kind, \(earlier.kind.rawValue)") }
        guard digest == earlier.digest else { return .changed("it begins differently") }
        guard let size, let before = earlier.size, size != before else { return .same }
        return size > before ? .grown : .changed("it ends at \(unit) \(size), and ended at \(before)")
    }
}
