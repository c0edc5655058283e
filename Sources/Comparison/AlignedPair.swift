/// Both sides of one receipt, aligned row by row with the differences marked, for display.
///
/// Texts are truncated as in ``ComparedValue/truncated``.
package struct AlignedPair: Sendable, Hashable, Codable {
    package struct Field: Sendable, Hashable, Codable {
        /// Name as in paths. For example, `expiresDate`.
        package var name: String
        package var verifyReceipt: String?
        package var serverAPI: String?
        /// Rule that names the difference; `nil` if there is none.
        package var rule: String?
        /// `expected` or `unexpected` if there is a rule, otherwise `nil`.
        package var verdict: String?
    }

    /// One transaction or renewal, or the app.
    package struct Row: Sendable, Hashable, Codable {
        /// Id of the transaction or subscription; empty for the app.
        package var identifier: String
        package var fields: [Field]
        package var omitted = 0
        /// Rule of the row itself: it is on one side only, or on one side twice. Otherwise `nil`.
        package var rule: String?
        package var verdict: String?
    }

    /// One section: `answer`, `transactions`, `latestTransactions`, `renewals` or `subscriptions`.
    package struct Section: Sendable, Hashable, Codable {
        package var name: String
        package var rows: [Row]
        package var omitted: Int
    }

    /// Digest or id of the receipt, as in ``Difference/receipt``.
    package var receipt: String
    package var bundleId: String
    package var environment: String
    package var sections: [Section]
}

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
    /// Kinds of differences that the stored samples show.
    private var seen: Set<FieldSample> = []

    package init() {}

    /// Stores the documents of a receipt if there is room and they show a new kind of difference. Half of the room is
    /// reserved for unexpected differences.
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
