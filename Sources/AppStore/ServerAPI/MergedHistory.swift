import StoreTypes

/// The history that one identifier brought.
struct History: Sendable {
    let transactions: [Signed<TransactionPayload>]
    let bundleId: String?
    let appAppleId: Int64?
    let revision: String?
}

/// What several identifiers of one receipt brought together.
struct MergedHistory {
    private(set) var transactions: [Signed<TransactionPayload>] = []
    private var places: [String: Int] = [:]
    private var originals: Set<String> = []
    private var appAppleId: Int64?
    private var revisions: [String?] = []
    var anomalies: [RecordAnomaly] = []

    /// Whether one of the transactions is this one, or goes back to it.
    func mentions(_ identifier: TransactionIdentifier) -> Bool {
        places[identifier.rawValue] != nil || originals.contains(identifier.rawValue)
    }

    /// The auto-renewables, each by its first transaction.
    var subscriptionIdentifiers: Set<String> {
        Set(
            transactions.lazy.map(\.payload).filter { $0.type == ProductType.autoRenewable.rawValue }
                .compactMap(\.originalTransactionId))
    }

    mutating func add(_ history: History) {
        appAppleId = appAppleId ?? history.appAppleId
        // The same history by another id of it is one history.
        let isRepetition =
            revisions.contains(history.revision)
            && history.transactions.allSatisfy { $0.payload.transactionId.map { places[$0] != nil } ?? false }
        if !isRepetition { revisions.append(history.revision) }
        for transaction in history.transactions {
            let payload = transaction.payload
            if payload.bundleId == nil { anomalies.append(.transactionWithoutBundleId(payload.transactionId)) }
            if let original = payload.originalTransactionId { originals.insert(original) }
            if let id = payload.transactionId {
                if let place = places[id] {
                    transactions[place] = transaction
                    continue
                }
                places[id] = transactions.count
            }
            transactions.append(transaction)
        }
    }

    /// A revision belongs to one history: none where several were put together.
    func records(
        environment: AppStoreEnvironment, bundleId: String, subscriptions: [SubscriptionRecord]
    ) -> CustomerRecords {
        CustomerRecords(
            environment: environment, bundleId: bundleId, appAppleId: appAppleId, transactions: transactions,
            subscriptions: subscriptions, revision: revisions.count == 1 ? revisions[0] : nil, anomalies: anomalies)
    }
}
