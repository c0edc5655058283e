import Base
import Cryptography

/// Who is who among the rows of one chunk: rows that share an identifier belong to one customer.
package struct ChunkCustomers {
    /// An identifier of one app and environment.
    struct Key: Hashable, Comparable {
        let scope: Int64
        let identifier: String

        static func < (left: Self, right: Self) -> Bool {
            (left.scope, left.identifier) < (right.scope, right.identifier)
        }
    }

    /// A customer within the chunk.
    package struct Group: Equatable {
        package let scope: Int64
        /// Sorted.
        package var identifiers: [String]
        /// The latest expiry date of its subscriptions, in milliseconds since 1970; `nil` if it has none.
        package var expires: Int64?
        /// The ids of rows that are not authentic, separated by spaces; `nil` for an authentic customer.
        package var claims: String?

        package init(scope: Int64, identifiers: [String], expires: Int64?, claims: String?) {
            self.scope = scope
            self.identifiers = identifiers
            self.expires = expires
            self.claims = claims
        }
    }

    /// Place of each identifier in ``parents``.
    private var places: [Key: Int] = [:]
    private var keys: [Key] = []
    /// A forest: each identifier points to another one of its customer, the root to itself.
    private var parents: [Int] = []
    private var expires: [Int: Int64] = [:]
    private var claims: [Int: String] = [:]

    package init() {}

    /// Returns the identifiers under which the customer of a row is found; empty if there is nothing to look up.
    ///
    /// A row that is not authentic is found only by exactly the same ids, so that it never merges two customers.
    static func identifiers(of row: DecodedRow) -> [String] {
        if let download = row.downloadIdentifier { return ["download:\(download)".withoutNull] }
        let identifiers = row.identifiers
        guard !row.verified, !identifiers.isEmpty else { return identifiers.map(\.withoutNull) }
        return [claim(identifiers)]
    }

    /// Returns what stands for the ids of a row that is not authentic.
    static func claim(_ identifiers: [String]) -> String {
        "claims:" + SHA.hex(Array(claims(identifiers).utf8), with: .sha256)
    }

    private static func claims(_ identifiers: [String]) -> String {
        identifiers.prefix(MigrationStore.maximumIdentifiers).joined(separator: " ").withoutNull
    }

    /// Adds a row.
    ///
    /// - Returns: The place of the row's customer, for ``groups()``; `nil` if the row has none.
    package mutating func add(_ row: DecodedRow, scope: Int64) -> Int? {
        var root: Int?
        for identifier in Self.identifiers(of: row) {
            let place = place(of: Key(scope: scope, identifier: identifier))
            root = root.map { unite($0, place) } ?? self.root(of: place)
        }
        guard let root else { return nil }
        if let date = row.expires, row.verified { expires[root] = max(expires[root] ?? .min, date) }
        if !row.verified { claims[root] = Self.claims(row.identifiers) }
        return root
    }

    private mutating func place(of key: Key) -> Int {
        if let place = places[key] { return place }
        let place = keys.count
        places[key] = place
        keys.append(key)
        parents.append(place)
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

    private mutating func unite(_ one: Int, _ other: Int) -> Int {
        let (root, child) = (root(of: one), root(of: other))
        guard root != child else { return root }
        parents[child] = root
        if let date = expires.removeValue(forKey: child) { expires[root] = max(expires[root] ?? .min, date) }
        if let text = claims.removeValue(forKey: child) { claims[root] = text }
        return root
    }

    /// Returns the customers, and the index of the customer for each place that ``add(_:scope:)`` returned.
    package mutating func groups() -> (groups: [Group], indices: [Int: Int]) {
        var groups: [Group] = []
        var groupOfRoot: [Int: Int] = [:]
        var indices: [Int: Int] = [:]
        for place in keys.indices.sorted(by: { keys[$0] < keys[$1] }) {
            let root = root(of: place)
            let index: Int
            if let known = groupOfRoot[root] {
                index = known
            } else {
                index = groups.count
                groupOfRoot[root] = index
                groups.append(
                    Group(scope: keys[place].scope, identifiers: [], expires: expires[root], claims: claims[root]))
            }
            groups[index].identifiers.append(keys[place].identifier)
            indices[place] = index
        }
        return (groups, indices)
    }
}
