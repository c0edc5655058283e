/// What became of one row of the source.
package struct ResultRow: Sendable, Hashable {
    /// Not twice the same in one destination.
    package var id: String
    /// SHA-256 in hexadecimal digits of the decoded bytes; nil where nothing was decoded.
    package var digest: String?
    package var outcome: Outcome
    /// The code of the failure.
    package var reason: String?
    /// What the bytes are, authentic or not.
    package var kind: String
    package var verified: Bool
    package var repairs: [String]
    package var environment: String?
    package var bundleId: String?
    package var originalTransactionIds: [String]
    package var transactionIds: [String]
    /// Ids that stand only in the JSON around a receipt.
    package var unverifiedIds: [String]
    /// What the Server API says; nil where it was not asked or had nothing.
    package var api: APIColumns?

    package init(
        id: String, digest: String? = nil, outcome: Outcome, reason: String? = nil, kind: String, verified: Bool,
        repairs: [String] = [], environment: String? = nil, bundleId: String? = nil,
        originalTransactionIds: [String] = [], transactionIds: [String] = [], unverifiedIds: [String] = [],
        api: APIColumns? = nil
    ) {
        self.id = id
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

/// The columns that `--with-api` adds, objects and arrays as the JSON they are written as.
package struct APIColumns: Sendable, Hashable {
    package var appAppleId: Int64?
    /// Each of the three a JSON array.
    package var transactions: [UInt8]
    package var subscriptions: [UInt8]
    package var signedTransactions: [UInt8]
    /// With which a later run asks for what is new.
    package var revision: String?

    package init(
        appAppleId: Int64?, transactions: [UInt8], subscriptions: [UInt8], signedTransactions: [UInt8],
        revision: String?
    ) {
        self.appAppleId = appAppleId
        self.transactions = transactions
        self.subscriptions = subscriptions
        self.signedTransactions = signedTransactions
        self.revision = revision
    }
}

/// The word for what became of a row.
package enum Outcome: String, Sendable, Hashable, CaseIterable, Codable {
    /// Data of the Server API is in the row.
    case migrated
    /// Authentic, and no API was asked.
    case decoded
    /// Authentic, with nothing to look up.
    case noTransactions
    /// Not a receipt, or not authentic.
    case refused
    /// Not known in either environment.
    case notFound
    /// For now; a later run tries again.
    case failed
}
