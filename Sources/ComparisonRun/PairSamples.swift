import Comparison

/// The few receipts whose two documents a report shows side by side: each shows something that those before do not.
struct PairSamples: Sendable, Codable {
    /// What a sample shows.
    private struct Sight: Sendable, Hashable, Codable {
        let verdict: ComparisonRule.Class
        let rule: String
        let path: String
    }

    private(set) var pairs: [AlignedPair] = []
    private var seen: Set<Sight> = []

    /// Keeps the documents of a receipt where there is room and something new to be seen in them. Half of the room is for
    /// what is unexpected.
    mutating func offer(
        _ finding: RowComparer.Finding, id: String, scope: ComparisonReport.Scope, limit: Int
    ) {
        guard pairs.count < limit else { return }
        let sights = Set(finding.differences.map { Sight(verdict: $0.verdict, rule: $0.rule, path: $0.path) })
        let new = sights.subtracting(seen)
        let isUnexpected = new.contains { $0.verdict == .unexpected }
        guard isUnexpected || (!new.isEmpty && pairs.count < limit / 2) else { return }
        seen.formUnion(new)
        pairs.append(
            AlignedPair(
                verifyReceipt: finding.verifyReceipt, serverAPI: finding.serverAPI, differences: finding.differences,
                receipt: id))
    }
}
