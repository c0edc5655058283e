import ReceiptBridgeBase

/// What makes the rows of a transaction the last ones of a part of the source.
package enum ImportMark: Sendable {
    /// The chunk has ended, with the counts of its rows as JSON.
    case chunk(ImportLease, counts: String)
    /// A new position in a source that one worker reads.
    case progress(String)
}

extension ImportStore {
    /// Stores decoded rows, their customers and the mark in one transaction, so that each row is stored exactly once.
    ///
    /// - Returns: `false` if another worker has the chunk. Then nothing is stored.
    package func add(_ batch: ImportBatch, to run: Int64, _ mark: ImportMark) async throws(StorageError) -> Bool {
        var batch = batch
        let (groups, rows) = batch.grouped()
        // An erasure searches the apps that are known.
        for app in Set(groups.map { [$0.bundleId, $0.environment] }) {
            guard let bundleId = BundleIdentifier(rawValue: app[0]) else { continue }
            _ = try await appID(
                of: AppScope(
                    bundleId: bundleId, environment: AppStoreEnvironment(rawValue: app[1]) ?? .production))
        }
        return try await transaction(ImportWrite(engine: self, run: run, rows: rows, groups: groups, mark: mark).first)
    }

    /// Deletes the rows after one, of a source that one worker reads.
    package func deleteRows(of run: Int64, after row: Int64) async throws(StorageError) {
        try await write([
            SQLStatement("DELETE FROM importedRow WHERE run = $1 AND row > $2", .integer(run), .integer(row))
        ])
    }
}

/// Stores rows and their customers.
///
/// A customer has the key that the first transaction with one of its identifiers gave it, because identifiers are
/// unique. A transaction that finds several keys for the ids of one customer notes that they are the same, and
/// ``ImportStore/resolve(_:)`` merges them. So no transaction changes the rows of another one; transactions insert
/// identifiers in one order and change customers in one order afterwards.
private struct ImportWrite<Engine: ImportStore>: Sendable {
    /// Returns `false` if another worker has the chunk.
    typealias Step = SQLStep<Engine.Row, Bool>

    /// The keys that are known for a customer.
    private struct Known {
        var keys: Set<Int64> = []
        /// Those of customers that were looked up.
        var settled: Set<Int64> = []
        /// The identifiers of the customer that are stored.
        var identifiers: Set<String> = []
    }

    let engine: Engine
    let run: Int64
    let rows: [(values: [SQLValue], group: Int?)]
    let groups: [ImportGroup]
    let mark: ImportMark

    private var dialect: SQLDialect { engine.dialect }

    /// The identifiers of all customers, in the order in which they are inserted.
    private var entries: [(group: Int, scope: Int64, identifier: String)] {
        groups.indices.flatMap { index in groups[index].identifiers.map { (index, groups[index].scope, $0) } }
            .sorted { ($0.scope, $0.identifier) < ($1.scope, $1.identifier) }
    }

    var first: Step {
        let holds: [SQLStatement] = if case .chunk(let lease, _) = mark { [lease.hold(dialect)] } else { [] }
        return .run(holds + search) { (found) throws(StorageError) in
            if !holds.isEmpty, found[0].isEmpty { return .end(false) }
            return insertion(after: try known(Array(found.dropFirst(holds.count))))
        }
    }

    private var search: [SQLStatement] {
        let values = entries.map { [SQLValue.integer(Int64($0.group)), .integer($0.scope), .text($0.identifier)] }
        return dialect.each(values, ["place": .integer, "scope": .integer, "identifier": .text]) { new in
            """
            SELECT new.place, new.identifier, customer.id, customer.state <> 0 OR customer.reason IS NOT NULL
            FROM \(new) JOIN importIdentifier AS known ON known.run = \(run) AND known.scope = new.scope
                AND known.identifier = new.identifier
            JOIN importCustomer AS customer ON customer.id = known.customer
            """
        }
    }

    private func known(_ found: [[Engine.Row]]) throws(StorageError) -> [Known] {
        var known = [Known](repeating: Known(), count: groups.count)
        for row in found.joined() {
            let (place, key): (Int, Int64) = (try row.count(0), try row.rowID(2))
            guard known.indices.contains(place) else { throw row.damage(0) }
            known[place].keys.insert(key)
            known[place].identifiers.insert(try row.text(1))
            if try row.boolean(3) { known[place].settled.insert(key) }
        }
        return known
    }

    /// Inserts the customers of which nothing is known, then all identifiers.
    private func insertion(after known: [Known]) -> Step {
        let new = groups.indices.filter { known[$0].keys.isEmpty }
        let values = new.map { index -> [SQLValue] in
            let group = groups[index]
            return [
                .integer(run), .integer(group.scope), .text(group.bundleId), .text(group.environment),
                SQLValue(group.claims), SQLValue(group.download), .integer(group.expires),
                SQLValue(group.account.token), .integer(group.account.count),
            ]
        }
        let customers = dialect.insert(
            values, into: .importCustomer,
            "run, scope, bundleId, receiptEnvironment, claims, download, expires, accountToken, tokens", "RETURNING id")
        return .run(customers) { (inserted) throws(StorageError) in
            var keys = known.map { $0.keys.min() ?? 0 }
            let ids = inserted.joined()
            guard ids.count == new.count else {
                throw StorageError(.failed, at: engine.place, "customers were not inserted")
            }
            for (index, row) in zip(new, ids) { keys[index] = try row.rowID(0) }
            let missing = entries.filter { !known[$0.group].identifiers.contains($0.identifier) }
            let identifiers = dialect.insert(
                missing.map { [.integer(run), .integer($0.scope), .text($0.identifier), .integer(keys[$0.group])] },
                into: .importIdentifier, "run, scope, identifier, customer", "ON CONFLICT DO NOTHING")
            // Another transaction may have inserted some of them since the search. SQLite has one writer.
            let search = dialect == .sqlite || missing.isEmpty ? [] : self.search
            return .run(identifiers + search) { [keys] (found) throws(StorageError) in
                let now = search.isEmpty ? known : try self.known(Array(found.dropFirst(identifiers.count)))
                return .end(true, after: self.end(keys, Set(new), before: known, now))
            }
        }
    }

    /// - Parameters:
    ///   - keys: the key of each customer.
    ///   - new: indices of the customers that this transaction inserted.
    private func end(_ keys: [Int64], _ new: Set<Int>, before: [Known], _ now: [Known]) -> [SQLStatement] {
        var aliases: Set<[Int64]> = []
        var (keys, updates) = (keys, ImportUpdates())
        for index in groups.indices {
            let found = now[index].keys.union([keys[index]])
            let key = found.min() ?? keys[index]
            for other in found where other != key { aliases.insert([key, other]) }
            keys[index] = key
            guard !new.contains(index) else { continue }
            updates.add(groups[index].expires, groups[index].account, to: key)
            // A customer that was looked up is looked up again for an identifier that may not be in its history.
            for customer in before[index].settled {
                for identifier in groups[index].identifiers where !before[index].identifiers.contains(identifier) {
                    updates.gain(identifier, customer)
                }
            }
        }
        let marks: SQLStatement =
            switch mark {
            case .chunk(let lease, let counts): lease.end(counts: counts)
            case .progress(let progress): Engine.saving(progress: progress, of: run)
            }
        let pairs = aliases.sorted { $0.lexicographicallyPrecedes($1) }
        return updates.statements(dialect)
            + dialect.insert(
                pairs.map { [.integer(run), .integer($0[0]), .integer($0[1])] }, into: .importAlias, "run, low, high",
                "ON CONFLICT DO NOTHING")
            + insertion(of: keys) + [marks]
    }

    private func insertion(of keys: [Int64]) -> [SQLStatement] {
        let time = Timestamp.now
        var chunk: Int64 = 0
        if case .chunk(let lease, _) = mark { chunk = lease.number }
        let values = rows.map { values, group -> [SQLValue] in
            [.integer(run), .integer(chunk), SQLValue(group.map { keys[$0] }), SQLValue(time)]
                + values.map { $0.in(dialect) }
        }
        return dialect.insert(
            values, into: .importedRow, "run, chunk, customer, importedAt, \(StoreTable.importedColumns)",
            "ON CONFLICT (run, chunk, row) DO NOTHING")
    }
}

extension SQLValue {
    /// The value without U+0000 for PostgreSQL, whose text cannot contain it.
    fileprivate func `in`(_ dialect: SQLDialect) -> SQLValue {
        if case .text(let text) = self, dialect == .postgreSQL { .text(text.withoutNull) } else { self }
    }
}
