extension ComparisonReport {
    package static let kinds = ReportFile.Kind.allCases

    /// In the format that the file name extension selects: `.html`, `.json` or `.md`. Replaces an existing file. Only
    /// the owner can read the file.
    ///
    /// - Throws: `SinkError`.
    package func write(to path: String) throws {
        try ReportFile.check(path, kinds: Self.kinds)
        guard let kind = ReportFile.Kind(path: path) else { return }
        try ReportFile.write(to: path) { try $0.append(bytes(as: kind)) }
    }

    package func bytes(as kind: ReportFile.Kind) -> [UInt8] {
        switch kind {
        case .html: ComparisonPage(self).page.html
        case .json: json
        case .md: Array(markdown.utf8)
        }
    }
}

extension ComparisonReport {
    /// The report as Markdown, for places that cannot show HTML.
    package var markdown: String { ComparisonPage(self).page.markdown }

    /// Facts that the numbers are based on, one sentence each.
    var facts: [String] {
        let versions = historyVersions.filter { $0.value > 0 }.sorted { $0.key > $1.key }
        var facts: [String] = []
        if apps.contains(where: { $0.compared > 0 }) {
            let names = ComparisonRules.byDefinition.sorted().joined(separator: " and ")
            facts.append("What differs in every comparison by definition is expected and not counted: \(names).")
        }
        if !versions.isEmpty {
            let words = versions.enumerated().map { index, version in
                index == 0
                    ? "Get Transaction History V\(version.key) was used for \(version.value.grouped) "
                        + (version.value == 1 ? "comparison" : "comparisons")
                    : "V\(version.key) \(version.value.grouped)"
            }
            facts.append(words.joined(separator: ", ") + ".")
        }
        if unverified > 0 {
            let verb = unverified == 1 ? "comparison has" : "comparisons have"
            facts.append("\(unverified.grouped) \(verb) a side that is not signed.")
        } else if !versions.isEmpty {
            facts.append("Every record of the App Store Server API was verified.")
        }
        return facts
    }
}
