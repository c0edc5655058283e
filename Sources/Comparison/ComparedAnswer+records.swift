package import AppStore
import StoreTypes

extension ComparedAnswer {
    /// Creates a side from verified App Store Server API records.
    package init(_ records: CustomerRecords) throws(ComparisonError) {
        self.init(form: .records)
        isVerified = true
        environment = records.environment.rawValue
        bundleId = records.bundleId
        appAppleId = records.appAppleId
        try Self.check(rows: records.transactions.count + records.subscriptions.count, at: "serverAPI.history")
        for case .requestedIdIsAlias(let identifier) in records.anomalies { aliases.insert(identifier.rawValue) }
        latest = records.transactions.map { ComparedRow($0.payload) }
        renewals = records.subscriptions.compactMap { $0.renewal.map { ComparedRow($0.payload) } }
        for subscription in records.subscriptions {
            statuses[subscription.originalTransactionId] = Int64(subscription.status)
        }
    }

    /// Creates a side from recorded App Store Server API responses.
    package init(_ recorded: RecordedRecords) {
        self.init(form: .records)
        isVerified = recorded.isVerified
        environment = recorded.environment
        bundleId = recorded.bundleId
        appAppleId = recorded.appAppleId
        latest = recorded.transactions?.map { ComparedRow($0) }
        renewals = recorded.renewals?.map { ComparedRow($0) }
        statuses = recorded.statuses
    }
}
