import Reports

/// Collapsible lists, which need no script.
extension HTMLWriter {
    /// Number of entries that are shown; further entries are collapsed.
    static let maximumOpen = 8

    /// Writes the first entries, and below them a collapsed list of the others.
    ///
    /// - Parameter others: The noun of the summary, for example `more warnings`.
    mutating func folding<Entry>(
        _ entries: [Entry], _ others: String, _ body: (ArraySlice<Entry>, inout HTMLWriter) -> Void
    ) {
        if !entries.isEmpty { body(entries.prefix(Self.maximumOpen), &self) }
        fold(Array(entries.dropFirst(Self.maximumOpen)), others) { body($0[...], &$1) }
    }

    /// Writes all entries into a closed `<details>` whose summary is their number and `name`. Writes nothing if the
    /// list is empty.
    mutating func fold<Entry>(_ entries: [Entry], _ name: String, _ body: ([Entry], inout HTMLWriter) -> Void) {
        guard !entries.isEmpty else { return }
        element("details", ["class": "fold"]) { html in
            html.element("summary", text: "\(Int64(entries.count).grouped) \(name)")
            body(entries, &html)
        }
    }
}
