/// An import as it is stored.
package struct ImportRun: Sendable {
    package let id: Int64
    /// JSON of the program that reads the source.
    package let progress: String
    /// Number of App Store Server API calls so far.
    package let calls: Int64
    /// The time by the store's clock.
    package let time: Int64
}

/// A customer of one app, as found in the rows of an import. Its identifiers are all that occurred together in
/// authentic rows, or those of a single row that is not authentic.
package struct ImportedCustomer: Sendable {
    /// Row id in table `importCustomer`.
    package let key: Int64
    package let scope: Int64
    package let bundleId: String
    /// The environment in which the customer was found, otherwise the one of the receipts.
    package let environment: String
    /// Sorted as text. Empty if there is a download.
    package let identifiers: [String]
    /// `false` if the identifiers are those of a row that is not authentic.
    package let isProven: Bool
    /// Transaction ids in the customer's authentic rows, which a server finds the customer by.
    package let transactionIds: [String]
    /// The id of the customer's download of the app; `nil` if there are transaction ids.
    package let appTransactionId: String?
    /// The account token of the customer's rows; `nil` if they have none, or different ones.
    package let accountToken: String?
    /// Revision of the last lookup, and the JSON array of its signed transactions; `nil` if there was no lookup.
    package let previousLookup: (revision: String, signedTransactions: [UInt8])?
}

/// State of a customer's lookup.
package enum ImportState: Int64, Sendable {
    case waiting = 0
    case known, notFound, failed
}

/// Result of a customer lookup.
package enum CustomerLookupResult: Sendable, Hashable {
    case known(CustomerColumns)
    /// Not found in either environment.
    case notFound(reason: String)
    /// A temporary failure, to be retried on the next run.
    case failed(reason: String)

    /// The state of the customer afterwards.
    package var state: ImportState {
        switch self {
        case .known: .known
        case .notFound: .notFound
        case .failed: .failed
        }
    }
}

/// What a lookup found: the columns of the customer's result rows, and what says which rows these are.
package struct CustomerColumns: Sendable, Hashable {
    package var environment: String
    package var api: APIColumns
    /// All transaction ids and original transaction ids in the history. Any row with one of them belongs to the same
    /// customer.
    package var identifiers: [String]

    package init(environment: String, _ api: APIColumns, identifiers: [String] = []) {
        self.environment = environment
        self.api = api
        self.identifiers = identifiers
    }
}

/// The columns of a customer's records. Objects and arrays are JSON.
package struct APIColumns: Sendable, Hashable {
    /// Apple's numeric id of the app; `nil` if the records have none.
    package var appAppleId: Int64?
    /// JSON arrays of transactions, subscriptions and JWS transactions.
    package var transactions: [UInt8]
    package var subscriptions: [UInt8]
    package var signedTransactions: [UInt8]
    /// Revision with which a later run requests only newer transactions.
    package var revision: String?
    /// JSON object of the customer's download of the app; `nil` if it was not requested.
    package var appTransaction: [UInt8]?

    package init(
        appAppleId: Int64?, transactions: [UInt8] = noElements, subscriptions: [UInt8] = noElements,
        signedTransactions: [UInt8] = noElements, revision: String? = nil, appTransaction: [UInt8]? = nil
    ) {
        self.appAppleId = appAppleId
        self.transactions = transactions
        self.subscriptions = subscriptions
        self.signedTransactions = signedTransactions
        self.revision = revision
        self.appTransaction = appTransaction
    }

    /// An empty JSON array.
    package static let noElements = Array("[]".utf8)
}

/// A part of a source that one worker reads. The parts of a source follow each other without gaps.
package struct ImportChunk: Sendable, Hashable {
    /// Place where the chunk begins; `nil` for the beginning of the source.
    package let first: String?
    /// Place where the chunk ends and the next one begins.
    package let last: String
    /// Number of rows; `nil` if they were not counted, because the chunk is a range of bytes.
    package let rows: Int64?

    package init(first: String?, last: String, rows: Int64?) {
        self.first = first
        self.last = last
        self.rows = rows
    }
}

/// A static part of the chunks.
package struct ImportShard: Sendable, Hashable {
    /// From 0.
    package let index: Int64
    package let count: Int64

    /// Parses `I/N`, for example `1/4` to `4/4`. Returns `nil` for another text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], (1...10_000).contains(count),
            (1...count).contains(number)
        else { return nil }
        self.init(index: number - 1, count: count)
    }

    private init(index: Int64, count: Int64) {
        self.index = index
        self.count = count
    }

    /// All chunks.
    package static let whole = ImportShard(index: 0, count: 1)

    /// The condition that a chunk is one of the shard.
    var condition: String { "number >= 0 AND number % \(count) = \(index)" }
}
