import ReceiptBridgeBase

/// Facts about both sides that conditions need, computed once for each comparison.
struct ComparisonFacts {
    let context: ComparisonContext
    /// `true` if either side is from the sandbox.
    let isSandbox: Bool
    /// `true` if the verifyReceipt response is to an iOS 6 receipt.
    let isFlat: Bool
    /// `true` if the second side is records, not a response rendered from them.
    let isAgainstRecords: Bool
    /// Version of Get Transaction History, 1 or 2.
    let historyVersion: Int
    let latestCount: Int?
    /// `true` if only one of two responses has `latest_receipt_info`, and neither has a subscription.
    let hasLatestWithoutSubscription: Bool
    /// Number of rows in `in_app`, or 1 for an iOS 6 receipt.
    let snapshotCount: Int
    let oldest: Timestamp?
    private let newest: [String: Timestamp]
    let latestIdentifiers: Set<String>
    let serverIdentifiers: Set<String>
    let snapshotProducts: Set<String>
    /// `true` if any transaction is on both sides.
    var hasCommonRows = false
    /// Time that "recent" refers to.
    let now: Timestamp?

    init(_ left: ComparedAnswer, _ right: ComparedAnswer, _ context: ComparisonContext) {
        self.context = context
        isSandbox = [left.environment, right.environment].contains(AppStoreEnvironment.sandbox.rawValue)
        isFlat = left.form == .flatAnswer
        isAgainstRecords = right.form == .records
        historyVersion = right.historyVersion
        latestCount = left.latest?.count
        hasLatestWithoutSubscription =
            !isAgainstRecords && (left.latest == nil) != (right.latest == nil)
            && ![left, right].contains { ($0.snapshot + ($0.latest ?? [])).contains(where: \.isAutoRenewable) }
        snapshotCount = left.snapshot.count
        oldest = left.latest?.lazy.compactMap(\.purchaseDate).min()
        latestIdentifiers = Set((left.latest ?? []).lazy.compactMap { $0.identifier(.transactionId) })
        snapshotProducts = Set(left.snapshot.lazy.compactMap { $0[.productId]?.text })
        // A response rendered from records was looked up by the receipt's own ids. Records state the ids that they
        // were found by as aliases.
        let serverRows = (right.latest ?? []) + (right.form == .records ? [] : right.snapshot)
        serverIdentifiers = Set(
            serverRows.lazy.flatMap { [$0.identifier(.originalTransactionId), $0.identifier(.transactionId)] }
                .compactMap(\.self)
        ).union(right.aliases)
        var newest: [String: Timestamp] = [:]
        for row in left.latest ?? [] {
            guard let id = row.identifier(.originalTransactionId), let date = row.purchaseDate else { continue }
            newest[id] = max(newest[id] ?? date, date)
        }
        self.newest = newest
        now = context.now ?? left.requestDate
    }

    func newestListed(_ row: ComparedRow?) -> Timestamp? {
        row?.identifier(.originalTransactionId).flatMap { newest[$0] }
    }

    /// Returns whether the date is within ``ComparisonCondition/recentMilliseconds`` of ``now``.
    func isRecent(_ instant: Timestamp?) -> Bool {
        guard let now, let instant else { return false }
        let distance = now.milliseconds.subtractingReportingOverflow(instant.milliseconds)
        return !distance.overflow && distance.partialValue.magnitude <= ComparisonCondition.recentMilliseconds
    }
}

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
