import Storage
import Responses
import Reports
import AppStoreTypes
import BatchInput

extension MigrationReport {
    /// Writes the report as a JSON object. The refused rows are last, one on each line, and at most 512 of them are
    /// in memory.
    func writeJSON(into file: inout ReportFile, refusals ledger: MigrationStore) throws {
        try file.append(head())
        var last: Int64 = 0
        while true {
            let refusals: [Refusal]
            do throws(StorageError) {
                refusals = try ledger.refusals(after: last, limit: 512)
            } catch {
                throw RunError(error)
            }
            guard let end = refusals.last else { break }
            for refusal in refusals {
                try file.append((last == 0 && refusal == refusals.first ? [] : [UInt8(ascii: ",")]) + line(of: refusal))
            }
            last = end.row
        }
        try file.append(Array("\n]}\n".utf8))
    }

    /// Returns everything before the first refused row.
    private func head() -> [UInt8] {
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        writer.member("report", "receipt-bridge migrate")
        writer.member("version", 1)
        writer.member("summary", summary)
        writer.member("finished", ending.stop == nil)
        writer.member("stop", ending.stop?.rawValue)
        writer.member("standing", standing)
        writer.member("source", sourceName)
        writer.member("destination", destinationName)
        writer.member("begun", ending.history.begun?.iso8601)
        writer.member("ended", ending.history.ended?.iso8601)
        writer.member("runs", ending.history.runs)
        writer.key("run")
        writer.beginObject()
        writer.member("rows", ending.rowsRead)
        writer.member("milliseconds", ending.duration.milliseconds)
        writer.member("rowsPerSecond", rowsPerSecond)
        writer.endObject()
        writer.key("options")
        writer.beginObject()
        options.write(into: &writer)
        writer.endObject()
        writer.member("rows", counts.rows)
        writer.member("authentic", counts.authentic)
        writer.member("renamedIds", counts.renamedIds)
        writer.member(
            "outcomes", Dictionary(uniqueKeysWithValues: Outcome.allCases.map { ($0.rawValue, counts.count(of: $0)) }))
        writer.member("kinds", counts.kinds)
        writer.member("environments", counts.environments)
        writer.member("years", counts.years)
        writer.member("repairs", counts.repairs)
        writer.member("reasons", counts.reasons)
        writer.member("refusalReasons", counts.refusals)
        writer.member("customers", ending.customers)
        writer.member("calls", withAPI ? ending.history.calls : nil)
        writer.key("refusals")
        writer.beginArray()
        return writer.finish()
    }

    private func line(of refusal: Refusal) -> [UInt8] {
        var writer = JSONWriter(reserving: 128 + refusal.id.utf8.count + refusal.reason.utf8.count)
        writer.beginObject()
        writer.member("row", refusal.row)
        writer.member("id", refusal.id)
        writer.member("code", refusal.code)
        writer.member("place", refusal.place)
        writer.member("reason", refusal.reason)
        writer.endObject()
        return [UInt8(ascii: "\n")] + writer.finish()
    }
}

extension MigrationOptions {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.member("withApi", persisted.withAPI)
        writer.member("allowUnverified", persisted.allowUnverified)
        writer.member("receiptColumn", persisted.source.receiptColumn)
        writer.member("idColumn", persisted.source.idColumn)
        writer.member("accountTokenColumn", persisted.source.accountTokenColumn)
        writer.member("setAccountTokens", accountTokens == .set)
        writer.member("table", persisted.source.table)
        writer.member("plan", isPlan)
        writer.member("fresh", isFresh)
        writer.member("refresh", isRefresh)
        writer.member("workers", Int64(workers))
        writer.member("limit", rowLimit)
        writer.member("maxMilliseconds", timeLimit?.milliseconds)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ key: String, _ text: String?) {
        self.key(key)
        if let text { value(text) } else { null() }
    }

    fileprivate mutating func member(_ key: String, _ number: Int64?) {
        self.key(key)
        if let number { value(number) } else { null() }
    }

    fileprivate mutating func member(_ key: String, _ flag: Bool) {
        self.key(key)
        value(flag)
    }

    /// Writes counts as an object, sorted by name.
    fileprivate mutating func member(_ key: String, _ counts: [String: Int64]) {
        self.key(key)
        beginObject()
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { member(name, count) }
        endObject()
    }

    fileprivate mutating func member(_ key: String, _ tally: CustomerTally?) {
        self.key(key)
        guard let tally else { return null() }
        beginObject()
        member("all", tally.all)
        member("known", tally.known)
        member("notFound", tally.notFound)
        member("failed", tally.failed)
        member("waiting", tally.waiting)
        endObject()
    }
}
