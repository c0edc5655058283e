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
    /// Number of rows in `latest_receipt_info`; `nil` if there is no such list.
    let latestCount: Int?
    /// `true` if only one of two responses has `latest_receipt_info`, and neither has a subscription.
    let hasLatestWithoutSubscription: Bool
    /// Number of rows in `in_app`, or 1 for an iOS 6 receipt.
    let snapshotCount: Int
    /// Date of the oldest purchase in `latest_receipt_info`.
    let oldest: Timestamp?
    /// Date of the newest purchase of each subscription in `latest_receipt_info`, by original transaction id.
    private let newest: [String: Timestamp]
    /// Transaction ids in `latest_receipt_info`.
    let latestIdentifiers: Set<String>
    /// Ids that the second side lists for the customer.
    let serverIdentifiers: Set<String>
    /// Product ids in `in_app` or the iOS 6 receipt.
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

    /// Returns the date of the newest purchase that the response lists for the row's subscription.
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
