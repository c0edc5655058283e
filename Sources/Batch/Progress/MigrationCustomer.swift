import Reports

/// A customer of one app, as found in the rows of a migration. Its identifiers are all that occurred together in
/// authentic rows, or those of a single row that is not authentic.
package struct MigrationCustomer: Sendable {
    /// Row id in table `customer`.
    package let key: Int64
    package let bundleId: String
    /// The environment in which the customer was found, otherwise the one of the receipts.
    package let environment: String
    /// Sorted as text. Empty if there is an `appTransactionId`.
    package let identifiers: [String]
    /// The id of the customer's download of the app; `nil` if there are transaction ids.
    package let appTransactionId: String?
    /// The account token of the customer's rows; `nil` if they have none, or different ones.
    package let accountToken: String?
    /// Revision of the last lookup, and the JSON array of its signed transactions; `nil` if there was no lookup.
    package let previousLookup: (revision: String, signedTransactions: [UInt8])?
}

/// Result of a customer lookup.
package enum CustomerLookupResult: Sendable, Hashable {
    case known(CustomerColumns)
    /// Not found in either environment.
    case notFound(reason: String)
    /// A temporary failure, to be retried on the next run.
    case failed(reason: String)

    /// The state of the customer afterwards.
    var state: CustomerState {
        switch self {
        case .known: .known
        case .notFound: .notFound
        case .failed: .failed
        }
    }
}

/// State of a customer's lookup, as it is stored.
enum CustomerState: Int64 {
    case waiting = 0
    case known, notFound, failed

    /// The count of this state.
    var count: WritableKeyPath<CustomerTally, Int64> {
        switch self {
        case .waiting: \.waiting
        case .known: \.known
        case .notFound: \.notFound
        case .failed: \.failed
        }
    }
}

extension CustomerTally {
    /// Creates counts by the numbers of stored states.
    init(_ counts: [(state: Int64, count: Int64)]) {
        self.init()
        for (state, count) in counts {
            if let state = CustomerState(rawValue: state) { self[keyPath: state.count] = count }
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
