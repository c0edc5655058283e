/// The few receipts whose two documents a report shows side by side: each shows something that those before do not.
package struct PairSamples: Sendable, Codable {
    /// What a sample shows.
    private struct FieldSample: Sendable, Hashable, Codable {
        let verdict: ComparisonRule.Class
        let rule: String
        let path: String
    }

    package private(set) var pairs: [AlignedPair] = []
    private var seen: Set<FieldSample> = []

    /// None.
    package init() {}

    /// Keeps the documents of a receipt where there is room and something new to be seen in them. Half of the room is for
    /// what is unexpected.
    ///
    /// - Parameter receipt: a digest or an id.
    package mutating func offer(
        verifyReceipt: ComparedAnswer, serverAPI: ComparedAnswer, differences: [Difference], receipt: String, limit: Int
    ) {
        guard pairs.count < limit else { return }
        let sights = Set(differences.map { FieldSample(verdict: $0.verdict, rule: $0.rule, path: $0.path) })
        let new = sights.subtracting(seen)
        let isUnexpected = new.contains { $0.verdict == .unexpected }
        guard isUnexpected || (!new.isEmpty && pairs.count < limit / 2) else { return }
        seen.formUnion(new)
        pairs.append(
            AlignedPair(
                verifyReceipt: verifyReceipt, serverAPI: serverAPI, differences: differences, receipt: receipt))
    }
}
