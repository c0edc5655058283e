/// Both sides of one receipt, aligned row by row with the differences marked, for display.
///
/// Texts are truncated as in ``ComparedValue/truncated``.
package struct AlignedPair: Sendable, Hashable, Codable {
    /// One property.
    package struct Field: Sendable, Hashable, Codable {
        package var name: String
        /// Value of verifyReceipt; `nil` if it has none.
        package var verifyReceipt: String?
        /// Value of the App Store Server API; `nil` if it has none.
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
        /// Number of fields that are not included.
        package var omitted = 0
        /// Rule of the row itself: it is on one side only, or on one side twice. Otherwise `nil`.
        package var rule: String?
        package var verdict: String?
    }

    /// One section: `answer`, `transactions`, `latestTransactions`, `renewals` or `subscriptions`.
    package struct Section: Sendable, Hashable, Codable {
        package var name: String
        package var rows: [Row]
        /// Number of rows that are not included.
        package var omitted: Int
    }

    /// Digest or id of the receipt, as in ``Difference/receipt``.
    package var receipt: String
    package var bundleId: String
    package var environment: String
    package var sections: [Section]
}
