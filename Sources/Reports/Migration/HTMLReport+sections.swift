extension HTMLReport {
    /// The sections with counts, each with a plot and a table.
    var sections: [ReportSection] {
        var sections = [outcomes]
        if let customers { sections.append(customers) }
        sections += [refusalReasons]
        if let otherReasons { sections.append(otherReasons) }
        return sections + [environments, years, kinds, repairs]
    }

    private var rows: Int64 { report.counts.rows }

    private var outcomes: ReportSection {
        let isLenient = report.options.allowUnverified
        let entries = Outcome.allCases.map { outcome in
            ReportEntry(
                outcome.rawValue,
                isLenient ? ReportGlossary.unverifiedMeaning(of: outcome) : ReportGlossary.meaning(of: outcome),
                count: report.counts.count(of: outcome), style: outcome.rawValue)
        }
        return ReportSection(
            id: "outcomes", title: "Outcomes", caption: "Rows by outcome", column: "Outcome", entries: entries,
            whole: rows, hasSwatches: true, none: "There were no rows.")
    }

    private var customers: ReportSection? {
        report.customers.map { tally in
            let entries = [
                ReportEntry("known", "the App Store has records of them", count: tally.known, style: "migrated"),
                ReportEntry("notFound", "in neither environment", count: tally.notFound, style: "notFound"),
                ReportEntry("failed", "temporary failure; the next run retries", count: tally.failed, style: "failed"),
                ReportEntry("waiting", "not looked up yet", count: tally.waiting, style: "noTransactions"),
            ]
            return ReportSection(
                id: "customers", title: "Customers", caption: "Customers by the result of their lookup",
                column: "State", entries: entries, whole: tally.all, number: "Customers", hasSwatches: true,
                none: "There were no customers to look up.")
        }
    }

    private var refusalReasons: ReportSection {
        ReportSection(
            id: "reasons", title: "Reasons for refusals",
            caption: "Why rows were refused, and the share of all refusals", column: "Code",
            entries: [ReportEntry](
                report.counts.refusals, style: "refused", meaning: ReportGlossary.meaning(ofReason:)),
            whole: report.refused, none: "No row was refused.")
    }

    /// Reasons of rows that were not refused: rows that were not found, failed, or were accepted with
    /// `--allow-unverified`. `nil` if there are none.
    private var otherReasons: ReportSection? {
        let counts = report.counts
        let others = counts.reasons.merging(counts.refusals) { $0 - $1 }.filter { $0.value > 0 }
        guard !others.isEmpty else { return nil }
        return ReportSection(
            id: "other-reasons", title: "Other reasons",
            caption: "Reasons of rows that were not refused", column: "Code",
            entries: [ReportEntry](others, meaning: ReportGlossary.meaning(ofReason:)), whole: rows, none: "")
    }

    private var environments: ReportSection {
        ReportSection(
            id: "environments", title: "Environments", caption: "Environments that the receipts state",
            column: "Environment",
            entries: [ReportEntry](report.counts.environments, meaning: ReportGlossary.meaning(ofEnvironment:)),
            whole: rows, none: "There were no rows.")
    }

    private var years: ReportSection {
        let entries = [ReportEntry](years: report.counts.years)
        let dated = entries.reduce(0) { $0 + $1.count }
        return ReportSection(
            id: "years", title: "Years", caption: "When the receipts were made, by the year (UTC)", column: "Year",
            entries: entries, whole: rows, isInTime: true,
            note: dated < rows
                ? "\((rows - dated).grouped) \(rows - dated == 1 ? "row has" : "rows have") no date that could be read."
                : nil,
            none: "No receipt has a date that could be read.")
    }

    private var kinds: ReportSection {
        ReportSection(
            id: "kinds", title: "Kinds", caption: "Content of the rows, authentic or not", column: "Kind",
            entries: [ReportEntry](report.counts.kinds, meaning: ReportGlossary.meaning(ofKind:)), whole: rows,
            none: "There were no rows.")
    }

    private var repairs: ReportSection {
        ReportSection(
            id: "repairs", title: "Repairs", caption: "Repairs that were needed to read the receipts", column: "Repair",
            entries: [ReportEntry](report.counts.repairs, meaning: ReportGlossary.meaning(ofRepair:)), whole: rows,
            note: "A row may need several repairs. The signature is checked after them.",
            none: "No receipt needed a repair.")
    }
}
