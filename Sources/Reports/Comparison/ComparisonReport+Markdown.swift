import Base
package import Comparison

extension ComparisonReport {
    /// The report as Markdown, for places that cannot show HTML: first the sentences, then the tables.
    package var markdown: String {
        var parts = ["# Comparison: \(title.markdown)", "\(madeAt.displayText)."]
        parts += [apps.isEmpty ? "No receipt was compared." : sentences]
        if !rollouts.isEmpty { parts += ["## Gradual switches", rolloutSentences] }
        if !apps.isEmpty { parts += ["## Apps", appTable] }
        let (ofRecords, served) = (rules.filter { $0.verdict == .records }, rules.filter { $0.verdict != .records })
        parts += ["## Differences", served.isEmpty ? "There were none." : table(of: served)]
        if !ofRecords.isEmpty { parts += ["## Only in the records", Self.noteOfRecords, table(of: ofRecords)] }
        if !facts.isEmpty || !notes.isEmpty { parts += ["## Basis of the numbers", list(facts + notes)] }
        return parts.joined(separator: "\n\n") + "\n"
    }

    private var sentences: String {
        [Readiness](self).map { readiness in
            "- **\(readiness.decision): \(readiness.app.scope.displayText.markdown).** \(readiness.statement.markdown(limit: 2_000))"
        }.joined(separator: "\n")
    }

    private var rolloutSentences: String {
        rollouts.map { "- \($0.bundleId.markdown): \($0.sentence.markdown(limit: 2_000))" }.joined(separator: "\n")
    }

    private var appTable: String {
        let head =
            "| app | environment | compared | customers | same answer | share | upper bound | not compared |\n"
            + "|---|---|---:|---:|---:|---:|---:|---:|\n"
        return head
            + [Readiness](self).map { readiness in
                let app = readiness.app
                let cells = [
                    app.scope.app.markdown, app.scope.environmentText.markdown, app.compared.grouped,
                    readiness.customerCount,
                    app.equal.grouped, app.equal.share(of: app.compared), readiness.boundWords,
                    readiness.failed.grouped,
                ]
                return "| \(cells.joined(separator: " | ")) |"
            }.joined(separator: "\n")
    }

    /// Explains differences that only the records have.
    static let noteOfRecords =
        "These are in the records, but not in the responses. No client gets them, and they decide nothing."

    private func table(of groups: [RuleGroup]) -> String {
        let head = "| class | rule | count | apps | paths | example |\n|---|---|---:|---|---|---|\n"
        return head
            + groups.map { group in
                let cells = [
                    group.label, group.rule.markdown, group.count.grouped,
                    list(group.apps.map { ($0.scope.displayText, $0.count) }),
                    list(group.paths.map { ($0.path, $0.count) }),
                    group.entries.lazy.compactMap(\.examples.first).first?.markdown ?? "",
                ]
                return "| \(cells.joined(separator: " | ")) |"
            }.joined(separator: "\n")
    }

    /// Returns the first names of a cell with their counts.
    private func list(_ counts: [(name: String, count: Int64)]) -> String {
        let shown = counts.prefix(4).map { "\($0.name.markdown): \($0.count.grouped)" }
        return (shown + (counts.count > 4 ? ["\(counts.count - 4) more"] : [])).joined(separator: "; ")
    }

    private func list(_ sentences: [String]) -> String {
        sentences.map { "- \($0.markdown(limit: 2_000))" }.joined(separator: "\n")
    }
}

extension Difference {
    /// The difference as `PATH: value against value, in RECEIPT`.
    fileprivate var markdown: String {
        "\(fullPath.markdown): \((verifyReceipt?.displayText ?? "nothing").markdown) against "
            + "\((serverAPI?.displayText ?? "nothing").markdown), in \(receipt.markdown)"
            + (setting.map { "; set \($0.markdown)" } ?? "")
    }
}

extension String {
    /// The text escaped for Markdown, on one line, so that untrusted text contains no markup; cut to 200 characters.
    fileprivate var markdown: String { markdown(limit: 200) }

    fileprivate func markdown(limit: Int) -> String {
        let isLong = unicodeScalars.count > limit
        let shown = isLong ? String(unicodeScalars.prefix(limit)) + "…" : self
        var escaped = ""
        for scalar in PrintableText.text(of: shown).unicodeScalars {
            escaped += Self.escapes[scalar] ?? String(scalar)
        }
        return escaped.replacing("://", with: "&#58;//")
    }

    /// Characters that can start markup, a table cell, a mention or a formula.
    private static let escapes: [Unicode.Scalar: String] = {
        var escapes: [Unicode.Scalar: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "$": "&#36;"]
        for scalar in "\\`*_[]#|~!{}".unicodeScalars { escapes[scalar] = "\\\(scalar)" }
        return escapes
    }()
}
