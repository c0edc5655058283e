import ReceiptBridgeComparison
import ReceiptBridgeBase

extension MigrationReport {
    private var counts: MigrationCounts { result.counts }

    /// The result as a sentence. For example, `98,233 of 100,000 rows are authentic receipts; 1,767 were refused;
    /// nothing failed.`
    package var summary: String {
        guard counts.rows > 0 else { return "There were no rows." }
        var parts = [authenticity]
        if options.persisted.withAPI, result.stop != .planned { parts.append(Self.clause(.migrated, counts)) }
        if unverified > 0 {
            let verb = unverified == 1 ? "was looked up although it is not" : "were looked up although they are not"
            parts.append("\(unverified.grouped) \(verb), because of --allow-unverified")
        }
        parts.append(Self.clause(.refused, counts))
        if counts.count(of: .notFound) > 0 { parts.append(Self.clause(.notFound, counts)) }
        parts.append(Self.clause(.failed, counts))
        return parts.joined(separator: "; ") + "."
    }

    /// The state of the migration as a sentence: finished, stopped, or finished with rows to retry.
    package var standing: String {
        switch result.stop {
        case nil where counts.count(of: .failed) > 0 || (result.customers?.failed ?? 0) > 0:
            "Done, except for rows that failed: run the same command again to retry them."
        case nil: "Finished."
        case .planned:
            "Planned only: no customer was looked up, and no result was written."
        case let stop?: "Stopped early: \(stop.sentence). Run the same command again to resume."
        }
    }

    /// Number of rows that are not authentic and were looked up.
    private var unverified: Int64 { max(counts.rows - counts.authentic - result.refused, 0) }

    private var authenticity: String {
        let rows = counts.rows.grouped
        switch counts.authentic {
        case counts.rows:
            return counts.rows == 1 ? "The only row is an authentic receipt" : "All \(rows) rows are authentic receipts"
        case 0:
            return counts.rows == 1
                ? "The only row is not an authentic receipt" : "None of \(rows) rows is an authentic receipt"
        case 1: return "1 of \(rows) rows is an authentic receipt"
        default: return "\(counts.authentic.grouped) of \(rows) rows are authentic receipts"
        }
    }

    private static func clause(_ outcome: MigrationOutcome, _ counts: MigrationCounts) -> String {
        let count = counts.count(of: outcome)
        let number = count == 0 ? "nothing" : count.grouped
        let was = count > 1 ? "were" : "was"
        return switch outcome {
        case .migrated: "\(count == 0 ? "none" : number) got the App Store's records"
        case .refused: "\(number) \(was) refused"
        case .notFound: "\(number) \(was) not found"
        case .failed: count == 0 ? "nothing failed" : "\(number) failed for now"
        case .decoded, .noTransactions: "\(number) \(was) decoded"
        }
    }
}
