import StoreTypes

/// What conditions ask of the two sides as a whole; worked out once.
struct ComparisonFacts {
    let context: ComparisonContext
    let isSandbox: Bool
    let isFlat: Bool
    /// The second side is a history, not an answer.
    let isAgainstRecords: Bool
    let historyVersion: Int
    /// Rows of `latest_receipt_info`; nil without the list.
    let latestCount: Int?
    let snapshotCount: Int
    let serverCount: Int
    /// The oldest purchase of `latest_receipt_info`.
    let oldest: Timestamp?
    /// The newest purchase of each subscription in `latest_receipt_info`.
    private let newest: [String: Timestamp]
    /// Ids of `latest_receipt_info`.
    let latestIdentifiers: Set<String>
    /// Ids by which the second side knows the customer.
    let serverIdentifiers: Set<String>
    /// Of what the receipt lists.
    let snapshotProducts: Set<String>
    /// Whether any row of one side stands on the other.
    var hasCommonRows = false
    /// The instant that "recent" is measured from.
    let now: Timestamp?

    init(_ left: ComparedAnswer, _ right: ComparedAnswer, _ context: ComparisonContext) {
        self.context = context
        isSandbox = [left.environment, right.environment].contains(AppStoreEnvironment.sandbox.rawValue)
        isFlat = left.form == .flatAnswer
        isAgainstRecords = right.form == .records
        historyVersion = right.historyVersion
        latestCount = left.latest?.count
        snapshotCount = left.snapshot.count
        serverCount = right.latest?.count ?? 0
        oldest = left.latest?.lazy.compactMap(\.purchaseDate).min()
        latestIdentifiers = Set((left.latest ?? []).lazy.compactMap { $0.identifier(.transactionId) })
        snapshotProducts = Set(left.snapshot.lazy.compactMap { $0[.productId]?.text })
        // An answer that is made of records was found by the receipt's own ids; recorded and live records say by which.
        let known = (right.latest ?? []) + (right.form == .records ? [] : right.snapshot)
        serverIdentifiers = Set(
            known.lazy.flatMap { [$0.identifier(.originalTransactionId), $0.identifier(.transactionId)] }
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

    /// The newest purchase that the answer gives of the row's subscription.
    func newestListed(_ row: ComparedRow?) -> Timestamp? {
        row?.identifier(.originalTransactionId).flatMap { newest[$0] }
    }

    func isRecent(_ instant: Timestamp?) -> Bool {
        guard let now, let instant else { return false }
        let distance = now.milliseconds.subtractingReportingOverflow(instant.milliseconds)
        return !distance.overflow && distance.partialValue.magnitude <= ComparisonCondition.recentMilliseconds
    }
}
