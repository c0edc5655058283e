import ReceiptBridgeBase

/// A difference before a rule names it.
package struct ComparisonFinding {
    package enum Part: String, CaseIterable, Sendable {
        /// The top level of the response.
        case answer
        /// The app and its receipt.
        case receipt
        /// `in_app`, or an iOS 6 receipt.
        case snapshot = "transactions"
        /// `latest_receipt_info`, or the history.
        case latest = "latestTransactions"
        /// `pending_renewal_info`, or the renewals of the statuses.
        case renewals
        /// The entitlement of a subscription, compared with its status.
        case subscriptions
    }

    /// Element of a section that differs.
    package enum Subject: Hashable, Sendable {
        case row
        /// A row that is on one side more than once.
        case repetition
        /// The row at an end of the list, of those that both sides have.
        case ends
        case order
        case field(String)
    }

    let part: Part
    let subject: Subject
    var verifyReceipt: ComparedValue?
    var serverAPI: ComparedValue?
    var left: ComparedRow?
    var right: ComparedRow?
    /// Expiration date of the subscription's period, or of the row.
    var expiresDate: Timestamp?
    /// The configuration that removes the difference, as `key: value`; `nil` if none does.
    var setting: String?

    var values: [ComparedValue?] { [verifyReceipt, serverAPI] }
    /// Returns whether one side has this value, and the other none.
    func isOnly(_ value: ComparedValue) -> Bool { values == [value, nil] || values == [nil, value] }

    var isFamilyShared: Bool { left?.isFamilyShared == true || right?.isFamilyShared == true }
    var isUpgraded: Bool { left?.isUpgraded == true || right?.isUpgraded == true }
    var purchaseDate: Timestamp? { left?.purchaseDate ?? right?.purchaseDate }

    /// Milliseconds between the two dates; `nil` if the values are not both dates.
    var distance: UInt64? {
        guard let left = verifyReceipt?.instant, let right = serverAPI?.instant else { return nil }
        return (left.milliseconds - right.milliseconds).magnitude
    }

    /// Id of the row; `nil` if there is no row.
    var identifier: String? {
        let field: RowField = part == .renewals || part == .subscriptions ? .originalTransactionId : .transactionId
        return left?.identifier(field) ?? right?.identifier(field)
    }
}
