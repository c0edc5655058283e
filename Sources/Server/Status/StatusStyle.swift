import Reports

/// The style rules of the status page, in addition to the style of all reports.
enum StatusStyle {
    static let sheet: StaticString = """
        h3 { margin: 0 0 .25rem; font-size: 1.1rem; overflow-wrap: anywhere; }
        .standing { font-size: 1.15rem; }
        table + table, .fold { margin-top: .75rem; }
        .warnings ul { margin: 0; padding: 0; list-style: none; display: grid; gap: .5rem; }
        .warnings li {
          padding: .6rem .9rem; background: var(--panel); border: 1px solid var(--line); overflow-wrap: anywhere;
          border-left: 6px double var(--notFound); border-radius: 8px;
        }
        .mark { color: var(--notFound); }
        .warnings code { margin-left: .5rem; color: var(--soft); }
        .app { margin: 0 0 1.25rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 8px; }
        .app .note { margin: 0 0 .75rem; }
        .app > :last-child { margin-bottom: 0; }
        .app .facts { margin-top: .75rem; }
        .concerns { margin: 0 0 .25rem; }
        .folds { margin-top: 1.25rem; }
        .fold > summary { padding: .5rem 0; font-weight: 600; }
        .fold > .app { margin-bottom: .5rem; padding: .5rem 1rem; }
        .fold > .app[open] > summary { margin-bottom: .5rem; }
        .app > summary { overflow-wrap: anywhere; }
        .app .counts { color: var(--soft); }
        .names { columns: 16rem; margin: 0; padding: 0; list-style: none; overflow-wrap: anywhere; }
        .verdict { margin: .75rem 0 0; padding-left: .75rem; border-left: 4px solid; overflow-wrap: anywhere; }
        .verdict.safe { border-left-color: var(--migrated); }
        .verdict.notYet { border-left-color: var(--notFound); border-left-style: dashed; }
        .verdict.notSafe { border-left-color: var(--refused); border-left-style: double; }
        .verdict.informs { border-left-color: var(--soft); }
        .refresh { margin: .75rem 0 -1rem; color: var(--soft); font-size: .9rem; }
        .facts th { font-weight: 400; color: var(--soft); white-space: normal; }
        @media screen and (max-width: 40rem) { .app { padding: .75rem; } }

        """
}

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
