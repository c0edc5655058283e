package import Reports
package import StoredRows

extension ComparisonReport {
    /// Supported file formats.
    package static let kinds = ReportFile.Kind.allCases

    /// Writes the report in the format that the file name extension selects. Replaces an existing file. Only the
    /// owner can read the file.
    ///
    /// - Parameter path: File path that ends in `.html`, `.json` or `.md`.
    package func write(to path: String) throws(SinkError) {
        try ReportFile.check(path, kinds: Self.kinds)
        guard let kind = ReportFile.Kind(path: path) else { return }
        var file = try ReportFile(path: path)
        do {
            try file.append(bytes(as: kind))
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }

    /// Returns the complete file contents.
    package func bytes(as kind: ReportFile.Kind) -> [UInt8] {
        switch kind {
        case .html: ComparisonPage(self).bytes
        case .json: json
        case .md: Array(markdown.utf8)
        }
    }
}
