/// The few receipts whose documents a report shows side by side. Each sample has a difference that no earlier sample
/// has.
package struct PairSamples: Sendable, Codable {
    /// Key of a kind of difference.
    private struct FieldSample: Sendable, Hashable, Codable {
        let verdict: ComparisonRule.Class
        let rule: String
        let path: String
    }

    package private(set) var pairs: [AlignedPair] = []
    private var seen: Set<FieldSample> = []

    /// Creates an empty collection.
    package init() {}

    /// Stores the documents of a receipt if there is room and they show a new kind of difference. Half of the room is
    /// reserved for unexpected differences.
    ///
    /// - Parameters:
    ///   - verifyReceipt: Apple's verifyReceipt response.
    ///   - serverAPI: Records of the App Store Server API, or a response rendered from them.
    ///   - differences: Differences between these two sides.
    ///   - receipt: Digest or id of the receipt.
    ///   - limit: Maximum number of samples.
    package mutating func offer(
        verifyReceipt: ComparedAnswer, serverAPI: ComparedAnswer, differences: [Difference], receipt: String, limit: Int
    ) {
        guard pairs.count < limit else { return }
        let kinds = Set(differences.map { FieldSample(verdict: $0.verdict, rule: $0.rule, path: $0.path) })
        let new = kinds.subtracting(seen)
        let isUnexpected = new.contains { $0.verdict == .unexpected }
        guard isUnexpected || (!new.isEmpty && pairs.count < limit / 2) else { return }
        seen.formUnion(new)
        pairs.append(
            AlignedPair(
                verifyReceipt: verifyReceipt, serverAPI: serverAPI, differences: differences, receipt: receipt))
    }
}
