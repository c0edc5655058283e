package import ReceiptBridgeStorage

/// A row of the source: as it was decoded, as it is stored, and as its result.
package struct ResultRow: Sendable, Hashable {
    /// Number of the row in the source, or in its chunk, from 1.
    package var row: Int64 = 0
    /// Id of the row, unique in a file.
    package var id: String
    /// Id of the row in the source; `nil` if it has none there.
    package var sourceId: String?
    /// SHA-256 in hexadecimal of the decoded bytes; `nil` if nothing was decoded.
    package var digest: String?
    package var outcome: MigrationOutcome
    /// Error code; `nil` if there was no failure.
    package var reason: String?
    /// Place and reason of the failure; `nil` if there was none.
    var place, explanation: String?
    /// Kind of receipt, authentic or not.
    package var kind: String
    /// `true` if Apple's signature is valid.
    package var verified: Bool
    /// Names of the repairs that were needed to read the value.
    package var repairs: [String] = []
    /// Environment that the receipt states; `nil` if it could not be read.
    package var environment: String?
    package var bundleId: String?
    /// Original transaction ids in the receipt.
    package var originalTransactionIds: [String] = []
    /// Transaction ids in the receipt.
    package var transactionIds: [String] = []
    /// Ids that are only in the unsigned JSON around a receipt.
    package var unverifiedIds: [String] = []
    /// Year (UTC) in which the receipt was made; `nil` if unknown.
    package var year: Int64?
    /// Whether the row is not looked up because its app has no key.
    var lacksKey = false
    /// Data of the App Store Server API; `nil` if it was not requested or does not exist.
    package var api: APIColumns?

    package init(id: String, outcome: MigrationOutcome, reason: String? = nil, kind: String, verified: Bool) {
        (self.id, self.outcome, self.reason, self.kind, self.verified) = (id, outcome, reason, kind, verified)
    }

    func values(of columns: [ResultColumn]) -> some Sequence<ResultColumn.Value> {
        columns.lazy.map { $0.value(of: self) }
    }

    /// Approximate size in bytes of the row as text.
    var textSize: Int {
        guard let api else { return 512 }
        return 512 + api.transactions.count + api.subscriptions.count + api.signedTransactions.count
            + (api.appTransaction?.count ?? 0)
    }

    /// The reason of a row that only a lookup can decide about, before it.
    static let notAskedYet = "notAskedYet"
}

extension MigrationCounts {
    /// Counts a row.
    package mutating func add(_ row: ResultRow) {
        add(
            row.outcome, reason: row.reason, kind: row.kind, environment: row.environment, repairs: row.repairs,
            isAuthentic: row.verified, year: row.year.map { Int($0) })
        if row.lacksKey, let app = row.bundleId { add(rowsWithoutKey: 1, of: app) }
    }
}
