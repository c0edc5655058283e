/// What a request or an app's settings change in an answer.
package struct AnswerOptions: Sendable, Hashable {
    /// In which direction `latest_receipt_info` runs, by purchase date and transaction id.
    package enum Order: String, Sendable, Hashable, CaseIterable {
        case ascending, descending
    }

    /// The request's `exclude-old-transactions`: `latest_receipt_info` holds the newest row of each auto-renewable
    /// subscription, and no others. No effect on `in_app` and on iOS 6 answers.
    package var excludesOldTransactions: Bool
    /// Apple's own order has changed over the years; clients should not rely on it, and some do.
    package var latestReceiptInfoOrder: Order
    /// Without `latest_receipt`, `latest_receipt_info` and `pending_renewal_info`, which need the right password. In iOS 6
    /// answers nothing then tells of the subscription but the status.
    package var omitsLatest: Bool

    /// Apple's own defaults.
    package init(
        excludesOldTransactions: Bool = false, latestReceiptInfoOrder: Order = .ascending, omitsLatest: Bool = false
    ) {
        self.excludesOldTransactions = excludesOldTransactions
        self.latestReceiptInfoOrder = latestReceiptInfoOrder
        self.omitsLatest = omitsLatest
    }
}
