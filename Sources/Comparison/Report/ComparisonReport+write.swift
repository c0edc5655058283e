package import Reports
package import StoredRows

extension ComparisonReport {
    /// What a report is written as.
    package static let kinds = ReportFile.Kind.allCases

    /// Writes it in the format that the name of the file says, in the place of an older one; readable by its owner alone.
    ///
    /// - Parameter path: ends in `.html`, `.json` or `.md`.
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

    /// The whole of it.
    package func bytes(as kind: ReportFile.Kind) -> [UInt8] {
        switch kind {
        case .html: ComparisonPage(self).bytes
        case .json: json
        case .md: Array(markdown.utf8)
        }
    }
}
