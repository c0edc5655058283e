package import ReceiptBridgeComparison
package import ReceiptBridgeStorage

/// The result for one row of the source.
package struct ResultRow: Sendable, Hashable {
    /// Id of the row, unique in the destination.
    package var id: String
    /// SHA-256 in hexadecimal of the decoded bytes; `nil` if nothing was decoded.
    package var digest: String?
    package var outcome: MigrationOutcome
    /// Error code; `nil` if there was no failure.
    package var reason: String?
    /// Kind of receipt, authentic or not.
    package var kind: String
    /// `true` if Apple's signature is valid.
    package var verified: Bool
    /// Names of the repairs that were needed to read the value.
    package var repairs: [String]
    /// Environment that the receipt states; `nil` if it could not be read.
    package var environment: String?
    package var bundleId: String?
    /// Original transaction ids in the receipt.
    package var originalTransactionIds: [String]
    /// Transaction ids in the receipt.
    package var transactionIds: [String]
    /// Ids that are only in the unsigned JSON around a receipt.
    package var unverifiedIds: [String]
    /// Data of the App Store Server API; `nil` if it was not requested or does not exist.
    package var api: APIColumns?
    /// Number of the row in the source, from 1.
    package var row: Int64
    /// Id of the row in the source; `nil` if it has none there.
    package var sourceId: String?

    package init(
        id: String, digest: String? = nil, outcome: MigrationOutcome, reason: String? = nil, kind: String,
        verified: Bool,
        repairs: [String] = [], environment: String? = nil, bundleId: String? = nil,
        originalTransactionIds: [String] = [], transactionIds: [String] = [], unverifiedIds: [String] = [],
        api: APIColumns? = nil, row: Int64 = 0, sourceId: String? = nil
    ) {
        self.id = id
        self.row = row
        self.sourceId = sourceId
        self.digest = digest
        self.outcome = outcome
        self.reason = reason
        self.kind = kind
        self.verified = verified
        self.repairs = repairs
        self.environment = environment
        self.bundleId = bundleId
        self.originalTransactionIds = originalTransactionIds
        self.transactionIds = transactionIds
        self.unverifiedIds = unverifiedIds
        self.api = api
    }
}

extension MigrationCounts {
    /// Counts a row.
    package mutating func add(_ row: ResultRow, year: Int?) {
        add(
            row.outcome, reason: row.reason, kind: row.kind, environment: row.environment, repairs: row.repairs,
            isAuthentic: row.verified, year: year)
    }
}
