import Reports

/// Long lists in little space, without a script.
extension HTMLWriter {
    /// How many entries of a list are shown; the others are folded.
    static let maximumOpen = 8

    /// The first entries; the others below a line that counts them.
    mutating func folding<Entry>(
        _ entries: [Entry], _ others: String, _ body: (ArraySlice<Entry>, inout HTMLWriter) -> Void
    ) {
        if !entries.isEmpty { body(entries.prefix(Self.maximumOpen), &self) }
        fold(Array(entries.dropFirst(Self.maximumOpen)), others) { body($0[...], &$1) }
    }

    /// Writes all entries into a closed `<details>` whose summary is their number. Writes nothing if the list is empty.
    mutating func fold<Entry>(_ entries: [Entry], _ name: String, _ body: ([Entry], inout HTMLWriter) -> Void) {
        guard !entries.isEmpty else { return }
        element("details", ["class": "fold"]) { html in
            html.element("summary", text: "\(Int64(entries.count).grouped) \(name)")
            body(entries, &html)
        }
    }
}
