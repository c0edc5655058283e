import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// The history returned for one identifier.
struct History: Sendable {
    let transactions: [Signed<TransactionPayload>]
    let bundleId: String?
    let appAppleId: Int64?
    let revision: String?
    /// The first row that was left out because it belongs to another app or environment; `nil` if there was none.
    var foreign: UpstreamError?
}

/// The merged history of several identifiers of one receipt.
struct MergedHistory {
    private(set) var transactions: [Signed<TransactionPayload>] = []
    private var indexes: [String: Int] = [:]
    private var originals: Set<String> = []
    private var downloads: Set<String> = []
    private var appAppleId: Int64?
    private var revisions: [String?] = []
    /// When the history was signed that was signed first, by its latest transaction.
    private var signedAt: Timestamp?
    private(set) var foreign: UpstreamError?
    var anomalies: [RecordAnomaly] = []

    /// True if a transaction has this identifier, or has it as its original transaction or as its app transaction.
    func contains(_ identifier: TransactionIdentifier) -> Bool {
        indexes[identifier.rawValue] != nil || originals.contains(identifier.rawValue)
            || downloads.contains(identifier.rawValue)
    }

    var subscriptionIdentifiers: Set<String> {
        Set(transactions.lazy.map(\.payload).filter(\.isAutoRenewable).compactMap(\.originalTransactionId))
    }

    /// Adds a history. A transaction that is already present is replaced.
    mutating func add(_ history: History) {
        appAppleId = appAppleId ?? history.appAppleId
        foreign = foreign ?? history.foreign
        // Another identifier of the same customer returns the same history, whose revision must be counted once.
        let isSameHistory =
            revisions.contains(history.revision)
            && history.transactions.allSatisfy { $0.payload.transactionId.map { indexes[$0] != nil } ?? false }
        if !isSameHistory { revisions.append(history.revision) }
        let dates = [signedAt, history.transactions.lazy.compactMap(\.payload.signedDate).max()]
        signedAt = dates.compactMap { $0 }.min()
        for transaction in history.transactions {
            let payload = transaction.payload
            if payload.bundleId == nil { anomalies.append(.transactionWithoutBundleId(payload.transactionId)) }
            if let original = payload.originalTransactionId { originals.insert(original) }
            if let download = payload.appTransactionId { downloads.insert(download) }
            if let id = payload.transactionId {
                if let index = indexes[id] {
                    transactions[index] = transaction
                    continue
                }
                indexes[id] = transactions.count
            }
            transactions.append(transaction)
        }
    }

    /// Adds a signed transaction of a purchase in the history from another response, if the history lacks it or has a
    /// version that was signed before. One of another purchase is part of another history.
    mutating func add(newer transaction: Signed<TransactionPayload>) {
        guard let id = transaction.payload.transactionId,
            transaction.payload.originalTransactionId.map(originals.contains) ?? false
        else { return }
        guard let index = indexes[id] else {
            indexes[id] = transactions.count
            transactions.append(transaction)
            return
        }
        if transactions[index].payload.isSigned(before: transaction.payload) { transactions[index] = transaction }
    }

    /// Creates the customer's records. The revision is `nil` if several histories were merged, because a revision
    /// belongs to a single history.
    func records(
        environment: AppStoreEnvironment, bundleId: String, subscriptions: [SubscriptionRecord]
    ) -> CustomerRecords {
        var records = CustomerRecords(
            environment: environment, bundleId: bundleId, appAppleId: appAppleId, transactions: transactions,
            subscriptions: subscriptions, revision: revisions.count == 1 ? revisions[0] : nil, anomalies: anomalies)
        records.signedAt = signedAt
        return records
    }
}
