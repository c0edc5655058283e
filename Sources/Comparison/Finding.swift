import StoreTypes

/// Something that is not the same on both sides, before a rule names it.
struct Finding {
    /// Where in a document it stands.
    enum Part: String, CaseIterable {
        /// The top level.
        case answer
        /// The app and its receipt.
        case receipt
        /// `in_app`, or an iOS 6 receipt.
        case snapshot = "transactions"
        /// `latest_receipt_info`, or the history.
        case latest = "latestTransactions"
        case renewals
        case subscriptions
    }

    /// What of it.
    enum Subject: Hashable {
        /// A whole row stands on one side only.
        case row
        /// A row stands more than once on one side.
        case repetition
        /// The rows stand in another order.
        case order
        case field(String)
    }

    let part: Part
    let subject: Subject
    let verifyReceipt: ComparedValue?
    let serverAPI: ComparedValue?
    /// verifyReceipt's row.
    var left: ComparedRow?
    /// The App Store Server API's row.
    var right: ComparedRow?
    /// The subscription's period or the row's own.
    var expiresDate: Timestamp?

    var isFamilyShared: Bool { left?.isFamilyShared == true || right?.isFamilyShared == true }
    var isUpgraded: Bool { left?.isUpgraded == true || right?.isUpgraded == true }
    var purchaseDate: Timestamp? { left?.purchaseDate ?? right?.purchaseDate }

    /// Milliseconds between two instants.
    var distance: UInt64? {
        guard let left = verifyReceipt?.instant, let right = serverAPI?.instant else { return nil }
        return (left.milliseconds - right.milliseconds).magnitude
    }

    /// The row's id, where there is a row.
    var identifier: String? {
        let field: RowField = part == .renewals || part == .subscriptions ? .originalTransactionId : .transactionId
        return left?.identifier(field) ?? right?.identifier(field)
    }
}
