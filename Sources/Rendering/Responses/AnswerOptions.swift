/// The options of a response, from the request or from an app's configuration.
package struct AnswerOptions: Sendable, Hashable {
    /// The order of `latest_receipt_info` by purchase date and transaction id.
    package enum Order: String, Sendable, Hashable, CaseIterable {
        case ascending, descending
    }

    /// The request's `exclude-old-transactions`: `latest_receipt_info` contains only the newest row of each
    /// auto-renewable subscription. It has no effect on `in_app` and on iOS 6 responses.
    package var excludesOldTransactions: Bool
    /// The order of `latest_receipt_info`. Apple has changed it over the years; clients should not rely on it, but
    /// some do.
    package var latestReceiptInfoOrder: Order
    /// Whether `latest_receipt`, `latest_receipt_info` and `pending_renewal_info` are left out, because they need the
    /// correct password. In an iOS 6 response, only the status then depends on the subscription.
    package var omitsLatest: Bool

    /// The defaults are those of Apple's endpoint.
    package init(
        excludesOldTransactions: Bool = false, latestReceiptInfoOrder: Order = .ascending, omitsLatest: Bool = false
    ) {
        self.excludesOldTransactions = excludesOldTransactions
        self.latestReceiptInfoOrder = latestReceiptInfoOrder
        self.omitsLatest = omitsLatest
    }
}
