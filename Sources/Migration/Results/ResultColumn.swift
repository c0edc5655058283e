/// The columns of a destination, in their order: the same names in every format.
enum ResultColumn: String, CaseIterable, Sendable {
    case id, digest, outcome, reason, kind, verified, repairs, environment, bundleId
    case originalTransactionIds, transactionIds, unverifiedIds
    case appAppleId, transactions, subscriptions, signedTransactions, revision

    /// Those that only a run with the Server API has.
    static let api: Set<ResultColumn> = [
        .appAppleId, .transactions, .subscriptions, .signedTransactions, .revision,
    ]

    static func all(withAPI: Bool) -> [ResultColumn] { allCases.filter { withAPI || !api.contains($0) } }

    /// What a row holds here, before any format.
    enum Value {
        case null
        case text(String)
        case number(Int64)
        case flag(Bool)
        case texts([String])
        /// An array that is JSON already.
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
        }
    }
}

extension ResultColumn.Value {
    init(_ text: String?) {
        self = text.map(Self.text) ?? .null
    }
}
