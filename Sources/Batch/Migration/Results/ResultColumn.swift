import ReceiptBridgeStorage

/// The columns of a destination, in their order. The names are the same in all formats.
enum ResultColumn: String, CaseIterable, Sendable {
    case id, digest, outcome, reason, kind, verified, repairs, environment, bundleId
    case originalTransactionIds, transactionIds, unverifiedIds
    case appAppleId, transactions, subscriptions, signedTransactions, revision, appTransaction
    case row, sourceId

    /// Columns that exist only with `--with-api`.
    static let api: Set<ResultColumn> = [
        .appAppleId, .transactions, .subscriptions, .signedTransactions, .revision, .appTransaction,
    ]

    /// Columns that say which row of the source this is. They exist only in destinations in which ids are made unique.
    static let source: Set<ResultColumn> = [.row, .sourceId]

    /// Returns the columns of a destination, or of a filter.
    static func all(withAPI: Bool, isFilter: Bool = false) -> [ResultColumn] {
        allCases.filter { (withAPI || !api.contains($0)) && !(isFilter && source.contains($0)) }
    }

    /// The value of a column, independent of the format.
    enum Value {
        case null
        case text(String)
        case number(Int64)
        case flag(Bool)
        /// An array of texts, which is written as JSON.
        case texts([String])
        /// An array or an object as JSON text.
        case json([UInt8])
    }

    func value(of row: ResultRow) -> Value {
        switch self {
        case .id: .text(row.id)
        case .digest: .init(row.digest)
        case .outcome: .text(row.outcome.rawValue)
        case .reason: .init(row.reason)
        case .kind: .text(row.kind)
        case .verified: .flag(row.verified)
        case .repairs: .texts(row.repairs)
        case .environment: .init(row.environment)
        case .bundleId: .init(row.bundleId)
        case .originalTransactionIds: .texts(row.originalTransactionIds)
        case .transactionIds: .texts(row.transactionIds)
        case .unverifiedIds: .texts(row.unverifiedIds)
        case .appAppleId: row.api?.appAppleId.map(Value.number) ?? .null
        case .transactions: row.api.map { .json($0.transactions) } ?? .null
        case .subscriptions: row.api.map { .json($0.subscriptions) } ?? .null
        case .signedTransactions: row.api.map { .json($0.signedTransactions) } ?? .null
        case .revision: .init(row.api?.revision)
        case .row: .number(row.row)
        case .sourceId: .init(row.sourceId)
        case .appTransaction: (row.api?.appTransaction).map(Value.json) ?? .null
        }
    }
}

extension ResultColumn.Value {
    init(_ text: String?) {
        self = text.map(Self.text) ?? .null
    }
}
