import Reports

extension ComparisonReport {
    /// Facts that the numbers are based on, one sentence each.
    var facts: [String] {
        let versions = historyVersions.filter { $0.value > 0 }.sorted { $0.key > $1.key }
        var facts: [String] = []
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
