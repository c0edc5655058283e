import ReceiptBridgeBase

struct MigrationPage {
    let report: MigrationReport
    /// The first refused rows.
    let refusals: [Refusal]

    var page: ReportPage {
        var page = ReportPage(
            title: "Migration of \(report.sourceName) to \(report.destinationName)",
            skip: ("#outcomes", "To the numbers"), product: "Receipt Bridge · migration report",
            heading: "\(outside: report.sourceName)\(span: " to ", "arrow")\(outside: report.destinationName)",
            main: counts + [
                refusedRows,
                .section(
                    id: "run", "The run", [.facts("What was migrated, when, and with which options", report.facts)]),
            ])
        let isDone = report.result.stop == nil && report.result.counts.count(of: .failed) == 0
        page.header = [
            .paragraph("\(report.summary)", "summary"),
            .paragraph("\(report.standing)", isDone ? "standing done" : "standing"), .tiles(tiles),
        ]
        page.footer = [
            "Written by receipt-bridge migrate. This report contains no receipts, but row ids: protect it accordingly."
        ]
        return page
    }

    private var tiles: [(name: String, value: String, note: String?)] {
        let counts = report.result.counts
        var tiles = [
            ("rows", counts.rows.grouped), ("authentic", counts.authentic.share(of: counts.rows)),
            ("refused", report.result.refused.grouped),
        ]
        if let customers = report.result.customers {
            tiles += [("customers", customers.all.grouped), ("API calls", report.result.history.calls.grouped)]
        }
        if let rate = report.result.rowsPerSecond { tiles.append(("rows per second", rate.grouped)) }
        return tiles.map { ($0.0, $0.1, nil) }
    }

    // MARK: - Refused rows

    private var refusedRows: ReportBlock {
        guard let shown else {
            return .section(id: "refused-rows", "Refused rows", [.paragraph("No row was refused.")])
        }
        let table = ReportTable(
            "Refused rows in the order of the source", of: refusals, style: .rows,
            [
                .number("Row") { $0.row.grouped },
                .rowHeader("Id") { "\(outside: $0.id)" },
                .cell("Code") { "\(code: "\(outside: $0.code)")" },
                .cell("Place") { "\(code: "\(path: $0.place)")" },
                .cell("Reason") { "\(outside: $0.reason)" },
            ])
        return .section(id: "refused-rows", "Refused rows", [.paragraph("\(shown)"), .table(table)])
    }

    /// Says how many refused rows are shown; `nil` if there are none.
    private var shown: String? {
        guard !refusals.isEmpty else { return nil }
        let (shown, all) = (Int64(refusals.count), max(report.result.refused, Int64(refusals.count)))
        if shown == all { return all == 1 ? "This is the only one." : "These are all \(all.grouped)." }
        return """
            These are the first \(shown.grouped) of \(all.grouped); \((all - shown).grouped) more are not shown here. \
            The same command with --report FILE.json writes a report that has all of them.
            """
    }

    // MARK: - Counts

    private var rows: Int64 { report.result.counts.rows }

    /// The sections with counts, each with a plot and a table.
    private var counts: [ReportBlock] {
        let counts = report.result.counts
        let reasons = names(
            "reasons", "Reasons for refusals", "Why rows were refused, and the share of all refusals", "Code",
            counts.refusals, style: "refused", of: report.result.refused, ReportGlossary.meaning(ofReason:),
            none: "No row was refused.")
        let environments = names(
            "environments", "Environments", "Environments that the receipts state", "Environment",
            counts.environments, ReportGlossary.meaning(ofEnvironment:))
        let kinds = names(
            "kinds", "Kinds", "Content of the rows, authentic or not", "Kind", counts.kinds,
            ReportGlossary.meaning(ofKind:))
        let repairs = names(
            "repairs", "Repairs", "Repairs that were needed to read the receipts", "Repair", counts.repairs,
            ReportGlossary.meaning(ofRepair:),
            note: "A row may need several repairs. The signature is checked after them.",
            none: "No receipt needed a repair.")
        return [outcomes, customers, reasons, otherReasons, environments, years, kinds, repairs].compactMap(\.self)
    }

    /// A section that counts names.
    private func names(
        _ id: String, _ title: Words, _ caption: String, _ column: String, _ counts: [String: Int64],
        style: String = "plain", of whole: Int64? = nil, _ meaning: (String) -> String?, note: Words? = nil,
        none: Words = "There were no rows."
    ) -> ReportBlock {
        .counts(
            id: id, title: title, caption: caption, column: column,
            entries: [ReportEntry](counts, style: style, meaning: meaning), whole: whole ?? rows, note: note, none: none
        )
    }

    private var outcomes: ReportBlock {
        let isLenient = report.options.allowUnverified
        let entries = MigrationOutcome.allCases.map { outcome in
            ReportEntry(
                outcome.rawValue,
                isLenient ? ReportGlossary.unverifiedMeaning(of: outcome) : ReportGlossary.meaning(of: outcome),
                count: report.result.counts.count(of: outcome), style: outcome.rawValue)
        }
        return .counts(
            id: "outcomes", title: "Outcomes", caption: "Rows by outcome", column: "Outcome", entries: entries,
            whole: rows, hasSwatches: true, none: "There were no rows.")
    }

    private var customers: ReportBlock? {
        report.result.customers.map { tally in
            let entries = [
                ReportEntry("known", "the App Store has records of them", count: tally.known, style: "migrated"),
                ReportEntry("notFound", "in neither environment", count: tally.notFound, style: "notFound"),
                ReportEntry("failed", "temporary failure; the next run retries", count: tally.failed, style: "failed"),
                ReportEntry("waiting", "not looked up yet", count: tally.waiting, style: "noTransactions"),
            ]
            return .counts(
                id: "customers", title: "Customers", caption: "Customers by the result of their lookup",
                column: "State", entries: entries, whole: tally.all, number: "Customers", hasSwatches: true,
                none: "There were no customers to look up.")
        }
    }

    /// Reasons of rows that were not refused: rows that were not found, failed, or were accepted with
    /// `--allow-unverified`. `nil` if there are none.
    private var otherReasons: ReportBlock? {
        let others = report.result.counts.reasons.merging(report.result.counts.refusals) { $0 - $1 }.filter {
            $0.value > 0
        }
        guard !others.isEmpty else { return nil }
        return names(
            "other-reasons", "Other reasons", "Reasons of rows that were not refused", "Code", others,
            ReportGlossary.meaning(ofReason:))
    }

    private var years: ReportBlock {
        let entries = [ReportEntry](years: report.result.counts.years)
        let undated = rows - entries.reduce(0) { $0 + $1.count }
        let verb = undated == 1 ? "row has" : "rows have"
        return .counts(
            id: "years", title: "Years", caption: "When the receipts were made, by the year (UTC)", column: "Year",
            entries: entries, whole: rows, isInTime: true,
            note: undated > 0 ? "\(undated.grouped) \(verb) no date that could be read." : nil,
            none: "No receipt has a date that could be read.")
    }
}

extension MigrationReport {
    /// Names and values of the table about the run.
    fileprivate var facts: [(String, String)] {
        var facts = [("Source", sourceName), ("Destination", destinationName)]
        if let begun = result.history.begun { facts.append(("Started", begun.secondText)) }
        if let ended = result.history.ended { facts.append(("Ended", ended.secondText)) }
        facts.append(("Runs", result.history.runs.grouped))
        if result.wasFinished {
            facts.append(("This run", "had nothing to do: an earlier run had finished"))
        } else {
            let rate = result.rowsPerSecond.map { ", \($0.grouped) per second including lookups and writing" } ?? ""
            facts.append(("This run", "read \(result.rowsRead.grouped) rows in \(result.duration.displayText)\(rate)"))
        }
        if options.withAPI { facts.append(("API calls", "\(result.history.calls.grouped) in all runs")) }
        if result.counts.renamedIds > 0 {
            facts.append(("Ids made unique", "\(result.counts.renamedIds.grouped) rows had no id or a repeated one"))
        }
        return facts + options.descriptions.map { ("Option", $0) }
    }
}

extension Timestamp {
    /// For example, `2026-11-21 13:25:00 UTC`.
    fileprivate var secondText: String { Timestamp(seconds: seconds).displayText }
}

extension MigrationReport.Options {
    /// The options in words, one phrase each.
    fileprivate var descriptions: [String] {
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
