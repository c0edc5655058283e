/// The identity of a source, which shows whether a run can resume with it.
package struct SourceIdentity: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, Codable {
        case jsonLines, csv, table, directory, standardInput
    }

    package let kind: Kind
    /// Size of a file in bytes, or the largest rowid of a table; `nil` if there is no fixed end.
    let size: Int64?
    /// SHA-256 in hexadecimal of the beginning of the source, or of the samples of ``SplittableSource/fingerprint()``.
    /// Each kind of source defines which data is included. Only digests of the same of the two can be compared.
    let digest: String

    var hasEnd: Bool { size != nil }
}

/// Result of comparing a source with its earlier identity.
package enum SourceComparison: Sendable, Hashable {
    /// Unchanged, as far as can be determined without reading everything.
    case same
    /// The beginning is unchanged and there is more data, so a run can resume.
    case grown
    /// A different source, with a human-readable reason.
    case changed(String)
}

extension SourceIdentity {
    /// Compares kind, digest and size. The digests must cover the same range of both sources.
    func comparison(with earlier: SourceIdentity, unit: String) -> SourceComparison {
        guard kind == earlier.kind else { return .changed("it was a different kind, \(earlier.kind.rawValue)") }
        guard digest == earlier.digest else { return .changed("its beginning has changed") }
        guard let size, let before = earlier.size, size != before else { return .same }
        return size > before ? .grown : .changed("it ends at \(unit) \(size), previously at \(before)")
    }

    /// Returns how this source differs from the one that another worker reads; `nil` if they are the same.
    package func difference(from other: SourceIdentity) -> String? {
        if kind != other.kind { return "it is of the kind \(kind.rawValue), not \(other.kind.rawValue)" }
        if size != other.size { return "it ends at \(Self.text(size)), not at \(Self.text(other.size))" }
        return digest == other.digest ? nil : "its content differs"
    }

    private static func text(_ size: Int64?) -> String { size.map { "\($0)" } ?? "an unknown place" }
}
