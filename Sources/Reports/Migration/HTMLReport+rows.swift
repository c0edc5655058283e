import Base

extension HTMLReport {
    /// Writes the section with the first refused rows.
    func refusedRows(_ refusals: [Refusal], into html: inout HTMLWriter) {
        html.section("refused-rows", "Refused rows") { html in
            guard let shown = shownSentence(refusals.count) else {
                return html.element("p", text: "No row was refused.")
            }
            html.element("p", text: shown)
            html.table(
                named: "Refused rows in the order of the source", of: refusals, style: .rows,
                [
                    .number("Row") { $0.row.grouped },
                    .rowHeader("Id") { $0.untrusted($1.id) },
                    .cell("Code") { html, refusal in html.element("code") { $0.untrusted(refusal.code) } },
                    .cell("Place") { html, refusal in
                        html.element("code") { $0.untrusted(refusal.place, isPath: true) }
                    },
                    .cell("Reason") { $0.untrusted($1.reason) },
                ])
        }
    }

    /// Returns a sentence about how many refused rows are shown; `nil` if there are none.
    private func shownSentence(_ shown: Int) -> String? {
        guard shown > 0 else { return nil }
        let (shown, all) = (Int64(shown), max(report.refused, Int64(shown)))
        if shown == all { return all == 1 ? "This is the only one." : "These are all \(all.grouped)." }
        return """
            These are the first \(shown.grouped) of \(all.grouped); \((all - shown).grouped) more are not shown here. \
            The same command with --report FILE.json writes a report that has all of them.
            """
    }
}

extension HTMLReport {
    /// Writes the section about the run: source, destination, times and options.
    func run(into html: inout HTMLWriter) {
        html.section("run", "The run") { $0.facts("What was migrated, when, and with which options", facts) }
    }

    /// Names and values of the table about the run.
    private var facts: [(String, String)] {
        var facts = [("Source", report.sourceName), ("Destination", report.destinationName)]
        if let begun = report.history.begun { facts.append(("Started", begun.displayText)) }
        if let ended = report.history.ended { facts.append(("Ended", ended.displayText)) }
        facts.append(("Runs", report.history.runs.grouped))
        if report.wasFinished {
            facts.append(("This run", "had nothing to do: an earlier run had finished"))
        } else {
            let rate = report.rowsPerSecond.map { ", \($0.grouped) per second including lookups and writing" } ?? ""
            facts.append(("This run", "read \(report.rowsRead.grouped) rows in \(report.duration.displayText)\(rate)"))
        }
        if report.options.withAPI { facts.append(("API calls", "\(report.history.calls.grouped) in all runs")) }
        if report.counts.renamedIds > 0 {
            facts.append(("Ids made unique", "\(report.counts.renamedIds.grouped) rows had no id or a repeated one"))
        }
        return facts + report.options.descriptions.map { ("Option", $0) }
    }
}

extension Timestamp {
    /// For example, `2026-11-21 13:25:00 UTC`.
    fileprivate var displayText: String { "\(CivilTime(seconds: seconds).text) UTC" }
}

extension MigrationReport.Options {
    /// The options in words, one phrase each.
    var descriptions: [String] {
        var words = [withAPI ? "with lookups in the App Store Server API" : "offline: no lookups"]
        if allowUnverified { words.append("rows that are not authentic are looked up and marked") }
        if isPlan { words.append("planned only") }
        if isRefresh { words.append("known customers are looked up again") }
        if isFresh { words.append("started over") }
        if let column = receiptColumn { words.append("receipts in “\(column)”") }
        if let column = idColumn { words.append("ids in “\(column)”") }
        if let table = table { words.append("table “\(table)”") }
        if let column = accountTokenColumn {
            words.append("account tokens in “\(column)”, \(setsAccountTokens ? "set" : "not set: a dry run")")
        }
        if let rowLimit { words.append("at most \(rowLimit.grouped) rows a run") }
        if let timeLimit { words.append("no new work after \(timeLimit.displayText)") }
        words.append("\(workers) \(workers == 1 ? "batch" : "batches") at a time")
        return words
    }
}
