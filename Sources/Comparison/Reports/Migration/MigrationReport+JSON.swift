import ReceiptBridgeBase

extension MigrationReport {
    /// Writes the report as a JSON object. The refused rows are last, one on each line, and at most 512 of them are
    /// in memory.
    func writeJSON(into file: inout ReportFile, refusals read: RefusedRows) throws {
        try file.append(head())
        var last: Int64 = 0
        while true {
            let refusals = try read(last, 512)
            guard let end = refusals.last else { break }
            for refusal in refusals {
                try file.append((last == 0 && refusal == refusals.first ? [] : [UInt8(ascii: ",")]) + line(of: refusal))
            }
            last = end.row
        }
        try file.append(Array("\n]}\n".utf8))
    }

    /// The report as a JSON object without the refused rows.
    package var json: [UInt8] { JSONWriter.object(reserving: 4_096, write) }

    /// Returns everything before the first refused row.
    private func head() -> [UInt8] {
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        write(into: &writer)
        writer.key("refusals")
        writer.beginArray()
        return writer.finish()
    }

    /// The names of reasons to stop, where they are not those of ``RunStop``.
    private static let stopNames: [RunStop: String] = [
        .limit: "rowLimit", .time: "timeLimit", .signal: "asked", .rejectedKey: "refusedByAppStore",
    ]

    private func write(into writer: inout JSONWriter) {
        writer.member("report", "receipt-bridge migrate")
        writer.member("version", 1)
        writer.member("summary", summary)
        writer.member("finished", result.stop == nil)
        writer.member("stop", result.stop.map { Self.stopNames[$0] ?? "\($0)" })
        writer.member("standing", standing)
        writer.member("source", sourceName)
        writer.member("destination", destinationName)
        // The workers of a shared migration do not record their runs.
        if result.history.runs > 0 {
            writer.member("begun", result.history.begun?.iso8601)
            writer.member("ended", result.history.ended?.iso8601)
            writer.member("runs", result.history.runs)
        }
        writer.object("run") {
            $0.member("rows", result.rowsRead)
            $0.member("milliseconds", result.duration.inMilliseconds)
            $0.member("rowsPerSecond", result.rowsPerSecond)
        }
        writer.object("options") { options.write(into: &$0) }
        writer.member("rows", result.counts.rows)
        writer.member("authentic", result.counts.authentic)
        writer.member("renamedIds", result.counts.renamedIds)
        writer.member(
            "outcomes",
            Dictionary(
                uniqueKeysWithValues: MigrationOutcome.allCases.map { ($0.rawValue, result.counts.count(of: $0)) }))
        writer.member("kinds", result.counts.kinds)
        writer.member("environments", result.counts.environments)
        writer.member("years", result.counts.years)
        writer.member("repairs", result.counts.repairs)
        writer.member("reasons", result.counts.reasons)
        writer.member("refusalReasons", result.counts.refusals)
        writer.member("customers", result.customers)
        writer.member("calls", options.withAPI ? result.history.calls : nil)
    }

    private func line(of refusal: Refusal) -> [UInt8] {
        let json = JSONWriter.object(reserving: 128 + refusal.id.utf8.count + refusal.reason.utf8.count) {
            $0.member("row", refusal.row)
            $0.member("id", refusal.id)
            $0.member("code", refusal.code)
            $0.member("place", refusal.place)
            $0.member("reason", refusal.reason)
        }
        return [UInt8(ascii: "\n")] + json
    }
}

extension MigrationReport.Options {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("withApi", withAPI)
        writer.member("allowUnverified", allowUnverified)
        writer.member("receiptColumn", receiptColumn)
        writer.member("idColumn", idColumn)
        writer.member("accountTokenColumn", accountTokenColumn)
        writer.member("setAccountTokens", setsAccountTokens)
        writer.member("table", table)
        writer.member("plan", isPlan)
        writer.member("fresh", isFresh)
        writer.member("refresh", isRefresh)
        writer.member("workers", Int64(workers))
        writer.member("limit", rowLimit)
        writer.member("maxMilliseconds", timeLimit?.inMilliseconds)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ key: String, _ tally: CustomerTally?) {
        self.key(key)
        guard let tally else { return null() }
        object {
            $0.member("all", tally.all)
            $0.member("known", tally.known)
            $0.member("notFound", tally.notFound)
            $0.member("failed", tally.failed)
            $0.member("waiting", tally.waiting)
        }
    }
}
