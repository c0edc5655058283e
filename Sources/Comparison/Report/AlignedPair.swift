/// Both sides of one receipt, row beside row, with what differs marked: for people to look at.
///
/// Texts are as ``ComparedValue`` shows them, long ones cut.
package struct AlignedPair: Sendable, Hashable, Codable {
    /// One property.
    package struct Field: Sendable, Hashable, Codable {
        package var name: String
        /// verifyReceipt's value; nil where it says nothing.
        package var verifyReceipt: String?
        /// The App Store Server API's.
        package var serverAPI: String?
        /// The rule that names the difference; nil where there is none to be told.
        package var rule: String?
        /// `expected` or `unexpected`, with a rule.
        package var verdict: String?
    }

    /// One transaction, renewal, or the app.
    package struct Row: Sendable, Hashable, Codable {
        /// The transaction's or subscription's id; empty for the app.
        package var identifier: String
        package var fields: [Field]
        /// Fields that are not shown.
        package var omitted = 0
        /// Where the row stands on one side only, or twice: the rule that says so.
        package var rule: String?
        package var verdict: String?
    }

    /// `transactions`, `latestTransactions`, `renewals`, `subscriptions`, or the answer itself.
    package struct Section: Sendable, Hashable, Codable {
        package var name: String
        package var rows: [Row]
        /// Rows that are not shown.
        package var omitted: Int
    }

    /// A digest or an id, as in ``Difference/receipt``.
    package var receipt: String
    package var bundleId: String
    package var environment: String
    package var sections: [Section]
}
