import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// A customer as some rows of a source name it.
package struct ImportGroup: Sendable, Equatable {
    package let bundleId: String
    /// The environment in which the customer is looked up first; empty for production and then the sandbox.
    package let environment: String
    /// The names by which rows with the same customer are found.
    package private(set) var identifiers: [String]
    /// The latest expiry date of its subscriptions, in milliseconds since 1970; 0 if it has none.
    package private(set) var expires: Int64
    /// The ids of rows that are not authentic, separated by spaces; `nil` for an authentic customer.
    package let claims: String?
    /// The id of a download of the app, if nothing else is known of the customer.
    package let download: String?
    package private(set) var account: ImportAccount
    /// The app and environment, as a digest.
    let scope: Int64

    /// The customer of a row.
    ///
    /// The ids of a row that is not authentic never merge two customers: such rows belong to the same customer only if
    /// they have exactly the same ids.
    ///
    /// - Parameter identifiers: ids to look up; empty for a download.
    package init(
        bundleId: String, environment: String, identifiers: [String], isProven: Bool = true, download: String? = nil,
        expires: Int64? = nil, accountToken: String? = nil
    ) {
        self.bundleId = bundleId.withoutNull
        self.environment = environment.withoutNull
        self.download = download?.withoutNull
        scope = Self.scope(self.bundleId, self.environment)
        if let download = self.download {
            (self.identifiers, claims) = (["download:\(download)"], nil)
        } else if isProven {
            (self.identifiers, claims) = (identifiers.map(\.withoutNull), nil)
        } else {
            let claims = Set(identifiers).sorted().prefix(Self.maximumClaims).joined(separator: " ").withoutNull
            (self.identifiers, self.claims) = ([Self.claim(claims)], claims)
        }
        self.expires = isProven ? expires ?? 0 : 0
        account = ImportAccount(token: isProven ? accountToken?.withoutNull : nil)
    }

    private static let maximumClaims = 200

    /// Returns the name of rows that are not authentic and have these ids, separated by spaces.
    static func claim(_ identifiers: String) -> String {
        "claims:" + SHA.hex(Array(identifiers.utf8), with: .sha256)
    }

    static func scope(_ bundleId: String, _ environment: String) -> Int64 { SHA.short("\(environment) \(bundleId)") }

    /// Adds the rows of another group that turned out to be the same customer.
    fileprivate mutating func add(_ other: Self) {
        identifiers += other.identifiers
        expires = max(expires, other.expires)
        account.add(other.account)
    }

    fileprivate mutating func sort() { identifiers = Set(identifiers).sorted() }
}

/// The account token of a customer's rows. Tokens are compared case-insensitively, as UUIDs are. Two different tokens
/// count as no token.
package struct ImportAccount: Sendable, Equatable {
    package private(set) var token: String?
    /// 0 without a token, 1 with one, 2 with different ones.
    package private(set) var count: Int64

    init(token: String?, count: Int64? = nil) {
        self.token = token
        self.count = count ?? (token == nil ? 0 : 1)
    }

    mutating func add(_ other: Self) {
        guard other.count > 0 else { return }
        let isSame = token.map { $0.lowercased() == other.token?.lowercased() } ?? true
        count = isSame ? max(count, other.count) : 2
        token = token ?? other.token
    }
}

/// Decoded rows that are stored together. Rows that share an identifier belong to one customer.
package struct ImportBatch: Sendable {
    private struct Key: Hashable {
        let scope: Int64
        let identifier: String
    }

    /// The values of the rows, each with the place of its customer.
    private var rows: [(values: [SQLValue], place: Int?)] = []
    private var customers: [ImportGroup] = []
    /// A forest: each customer points to an earlier one that is the same, the first to itself.
    private var parents: [Int] = []
    private var places: [Key: Int] = [:]

    package init() {}

    package var count: Int { rows.count }

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - values: of ``StoreTable/importedColumns``.
    ///   - customer: to be looked up; `nil` for none.
    package mutating func add(_ values: [SQLValue], of customer: ImportGroup?) {
        rows.append((values, customer.map { place(of: $0) }))
    }

    private mutating func place(of customer: ImportGroup) -> Int {
        let place = customers.count
        customers.append(customer)
        parents.append(place)
        for identifier in customer.identifiers {
            let key = Key(scope: customer.scope, identifier: identifier)
            if let known = places[key] {
                let (one, other) = (root(of: known), root(of: place))
                parents[max(one, other)] = min(one, other)
            } else {
                places[key] = place
            }
        }
        return place
    }

    private mutating func root(of place: Int) -> Int {
        var place = place
        while parents[place] != place {
            parents[place] = parents[parents[place]]
            place = parents[place]
        }
        return place
    }

    /// Returns the customers in the order of their first rows, and the rows, each with the index of its customer.
    mutating func grouped() -> (groups: [ImportGroup], rows: [(values: [SQLValue], group: Int?)]) {
        var groups: [ImportGroup] = []
        var indices: [Int] = []
        for place in customers.indices {
            let root = root(of: place)
            indices.append(root == place ? groups.count : indices[root])
            if root == place { groups.append(customers[place]) } else { groups[indices[root]].add(customers[place]) }
        }
        for index in groups.indices { groups[index].sort() }
        return (groups, rows.map { ($0.values, $0.place.map { indices[$0] }) })
    }
}
