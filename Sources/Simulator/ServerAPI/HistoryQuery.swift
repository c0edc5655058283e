import ReceiptBridgeBase

/// The query of Get Transaction History: filters, order and position.
///
/// Callers must repeat all parameters for each page. If a parameter is repeated, any of its values matches.
struct HistoryQuery: Sendable {
    static let pageSize = 20

    /// The position after the last row of a page: `<lastModified ms>_<transactionId>`, for example
    /// `1795262400001_730000000000061`. `0` is the beginning.
    struct Revision: Sendable, Hashable {
        let milliseconds: Int64
        let transactionId: Int64

        var text: String { "\(milliseconds)_\(transactionId)" }

        func precedes(_ other: Revision) -> Bool {
            (milliseconds, transactionId) < (other.milliseconds, other.transactionId)
        }
    }

    private let revision: Revision?
    private let isDescending: Bool
    private let start, end: Int64?
    private let products: [String]
    private let kinds: [SimulatedProduct.Kind]
    private let groups: [String]
    private let isFamilyShared: Bool?
    private let isRevoked: Bool?

    init(_ request: APIRequest) throws(APIFailure) {
        revision = try Self.revision(of: request)
        isDescending =
            try request.value("sort", else: 4_000_021) { ["ASCENDING": false, "DESCENDING": true][$0] } ?? false
        start = try request.value("startDate", else: 4_000_015) { Int64($0) }
        end = try request.value("endDate", else: 4_000_016) { Int64($0) }
        if let start, let end, start > end { throw APIFailure(4_000_013) }
        products = request.values("productId")
        guard !products.contains("") else { throw APIFailure(4_000_023) }
        kinds = try request.values("productType", else: 4_000_022) { Self.kinds[$0] }
        groups = try request.values("subscriptionGroupIdentifier", else: 4_000_024) {
            TransactionIdentifier(rawValue: $0)?.rawValue
        }
        isFamilyShared = try request.value("inAppOwnershipType", else: 4_000_026) {
            ["PURCHASED": false, "FAMILY_SHARED": true][$0]
        }
        let revoked = try request.value("revoked", else: 4_000_030, Self.flag)
        let excluded = try request.value("excludeRevoked", else: 4_000_025, Self.flag)
        isRevoked = revoked ?? (excluded == true ? false : nil)
    }

    /// Returns the position after which a page begins, or `nil` for the first page.
    static func revision(of request: APIRequest) throws(APIFailure) -> Revision? {
        guard let text = request.value("revision"), text != "0" else { return nil }
        guard let revision = Revision(text) else { throw APIFailure(4_000_005) }
        return revision
    }

    func page(of rows: [SimulatedTransaction]) -> (rows: [SimulatedTransaction], hasMore: Bool) {
        let ascending = rows.filter(matches).map { (row: $0, position: Revision($0)) }
            .sorted { $0.position.precedes($1.position) }
        let ordered = isDescending ? ascending.reversed() : ascending
        let rest = ordered.filter { entry in
            revision.map { isDescending ? entry.position.precedes($0) : $0.precedes(entry.position) } ?? true
        }
        return (rest.prefix(Self.pageSize).map(\.row), rest.count > Self.pageSize)
    }

    private func matches(_ row: SimulatedTransaction) -> Bool {
        let date = row.purchaseDate.milliseconds
        return date >= start ?? .min && (end.map { date < $0 } ?? true)
            && (products.isEmpty || products.contains(row.product.productId))
            && (kinds.isEmpty || kinds.contains(row.product.kind))
            && (groups.isEmpty || row.product.group.map(groups.contains) == true)
            && (isFamilyShared ?? row.isFamilyShared) == row.isFamilyShared
            && (isRevoked ?? (row.revocation != nil)) == (row.revocation != nil)
    }

    /// Product types as the query names them, which differ from those in the payloads.
    private static let kinds: [String: SimulatedProduct.Kind] = [
        "AUTO_RENEWABLE": .autoRenewable, "NON_RENEWABLE": .nonRenewing, "CONSUMABLE": .consumable,
        "NON_CONSUMABLE": .nonConsumable,
    ]

    /// Upper case is accepted too, because Apple's Python library sends `True`.
    private static func flag(_ text: String) -> Bool? { ["true": true, "false": false][text.lowercased()] }
}

extension HistoryQuery.Revision {
    init(_ row: SimulatedTransaction) {
        self.init(milliseconds: row.lastModified.milliseconds, transactionId: Int64(row.transactionId) ?? 0)
    }

    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 2, let milliseconds = parts[0], let transactionId = parts[1] else { return nil }
        self.init(milliseconds: milliseconds, transactionId: transactionId)
    }
}
