import ReceiptBridgeBase

extension ImportStore {
    /// Merges the customers that are the same, after all rows were stored. Ends when another worker has the task.
    ///
    /// Of each group stays the customer with the smallest key that has data, otherwise the one with the smallest key.
    package func resolve(_ lease: ImportLease) async throws(StorageError) {
        let aliases = try await readSlowly(
            SQLStatement("SELECT low, high FROM importAlias WHERE run = $1", .integer(lease.run))
        ) { (row) throws(StorageError) in (low: try row.rowID(0), high: try row.rowID(1)) }
        var parents: [Int64: Int64] = [:]
        func root(of key: Int64) -> Int64 {
            var key = key
            while let parent = parents[key] { key = parent }
            return key
        }
        for (low, high) in aliases {
            let (one, other) = (root(of: low), root(of: high))
            if one != other { parents[max(one, other)] = min(one, other) }
        }
        let groups = Dictionary(grouping: Set(aliases.flatMap { [$0.low, $0.high] }), by: root)
        var rest = groups.values.map { $0.sorted() }.sorted { $0[0] < $1[0] }[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.groupsPerTransaction)
            rest = rest.dropFirst(part.count)
            guard try await transaction(ImportMerge(engine: self, lease: lease, groups: Array(part)).first) else {
                return
            }
        }
        try await transaction(
            SQLStep<Row, Void>.run([lease.hold(dialect)]) { found in
                found[0].isEmpty ? .end(()) : .end((), after: [lease.end()])
            })
    }

    private static var groupsPerTransaction: Int { 500 }

    /// Queues the end of reading again, because rows were added.
    package func reopen(_ task: ImportTask, of run: Int64) async throws(StorageError) {
        try await write([
            SQLStatement(
                "UPDATE importChunk SET state = 0 WHERE run = $1 AND number = $2 AND state = 2", .integer(run),
                .integer(task.rawValue))
        ])
    }
}

/// Merges groups of customers that are the same.
private struct ImportMerge<Engine: SQLEngine>: Sendable {
    /// Returns `false` if another worker has the task.
    typealias Step = SQLStep<Engine.Row, Bool>

    let engine: Engine
    let lease: ImportLease
    /// The keys of the customers of each group, in ascending order.
    let groups: [[Int64]]

    private var dialect: SQLDialect { engine.dialect }

    var first: Step {
        let keys = SQLValue.integers(groups.joined().sorted())
        let statements = [
            lease.hold(dialect),
            SQLStatement(
                """
                SELECT id, transactions IS NOT NULL, expires, accountToken, tokens, state <> 0 OR reason IS NOT NULL
                FROM importCustomer WHERE \(dialect.isAny("id", "$1")) ORDER BY id \(dialect.locking)
                """, keys),
            SQLStatement(
                "SELECT customer, identifier FROM importIdentifier WHERE \(dialect.isAny("customer", "$1"))", keys),
        ]
        return .run(statements) { (found) throws(StorageError) in
            found[0].isEmpty ? .end(false) : .end(true, after: try merging(found[1], found[2]))
        }
    }

    private struct Customer {
        let hasData, isSettled: Bool
        let expires: Int64
        let account: ImportAccount
    }

    private func merging(
        _ customers: [Engine.Row], _ identifiers: [Engine.Row]
    ) throws(StorageError) -> [SQLStatement] {
        var known: [Int64: Customer] = [:]
        for row in customers {
            known[try row.rowID(0)] = Customer(
                hasData: try row.boolean(1), isSettled: try row.boolean(5), expires: try row.integer(2),
                account: ImportAccount(token: try row.optionalText(3), count: try row.count(4)))
        }
        var names: [Int64: [String]] = [:]
        for row in identifiers { names[try row.rowID(0), default: []].append(try row.text(1)) }
        var (pairs, updates): ([(other: Int64, key: Int64)], ImportUpdates) = ([], ImportUpdates())
        for group in groups {
            let present = group.filter { known[$0] != nil }
            guard let key = present.first(where: { known[$0]?.hasData == true }) ?? present.first else { continue }
            for other in present where other != key {
                guard let customer = known[other] else { continue }
                pairs.append((other, key))
                updates.add(customer.expires, customer.account, to: key)
                guard known[key]?.isSettled == true || customer.isSettled else { continue }
                for name in names[other] ?? [] { updates.gain(name, key) }
            }
        }
        let aliases = SQLStatement(
            "DELETE FROM importAlias WHERE run = $1 AND \(dialect.isAny("low", "$2")) AND \(dialect.isAny("high", "$2"))",
            .integer(lease.run), .integers(groups.joined().sorted()))
        return updates.statements(dialect) + ImportStoreMerge.statements(pairs, dialect) + [aliases]
    }
}

/// The statements that move everything of customers to others, and delete them.
enum ImportStoreMerge {
    static func statements(_ pairs: [(other: Int64, key: Int64)], _ dialect: SQLDialect) -> [SQLStatement] {
        let values = pairs.map { [SQLValue.integer($0.other), .integer($0.key)] }
        return ["importIdentifier", "importedRow"].flatMap { table in
            dialect.each(values, ["other": .integer, "key": .integer]) { new in
                "UPDATE \(table) SET customer = new.key FROM \(new) WHERE customer = new.other"
            }
        }
            + (pairs.isEmpty
                ? []
                : [
                    SQLStatement(
                        "DELETE FROM importCustomer WHERE \(dialect.isAny("id", "$1"))", .integers(pairs.map(\.other)))
                ])
    }
}
