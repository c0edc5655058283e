package import ReceiptBridgeBase
import Foundation

extension PersonalDataStore {
    /// Counts the rows that an erasure would delete.
    package func footprint(of request: ErasureRequest) async throws(StorageError) -> Erasure {
        var erasure = Erasure()
        for search in try await locate(request) {
            for rows in try await read(search.counts, search.footprint) {
                erasure.add(rows, in: search.scope, for: request)
            }
        }
        return erasure
    }

    /// Returns the bundle ids of the apps that have or had data in the store.
    package func apps() async throws(StorageError) -> [String] {
        try await read(SQLStatement("SELECT DISTINCT bundleId FROM app ORDER BY bundleId")) {
            (row) throws(StorageError) in try row.text(0)
        }
    }

    /// Returns the id of the last erasure, which changes with every erasure; `nil` if there was none.
    package func lastErasure() async throws(StorageError) -> Int64? {
        try await read(SQLStatement("SELECT max(id) FROM erasure")) { (row) throws(StorageError) in
            try row.number(0)
        }.first
    }

    /// Finds the rows of the customer in each app. What is stored during the search can be missing.
    fileprivate func locate(_ request: ErasureRequest) async throws(StorageError) -> [CustomerSearch] {
        let apps = try await read(SQLStatement("SELECT id, bundleId, environment FROM app ORDER BY id")) {
            (row) throws(StorageError) -> (id: Int64, scope: AppScope)? in
            guard let scope = try row.scope(1, 2), request.bundleId ?? scope.bundleId == scope.bundleId,
                request.environment ?? scope.environment == scope.environment
            else { return nil }
            return (try row.rowID(0), scope)
        }
        var found: [CustomerSearch] = []
        for app in apps {
            let identifiers = try await identifiers(of: request.subject, app: app.id)
            guard !identifiers.isEmpty else { continue }
            var search = CustomerSearch(app: app.id, scope: app.scope, identifiers: identifiers, dialect)
            try await search.follow(self)
            found.append(search)
        }
        return found
    }

    private func identifiers(of subject: ErasureSubject, app: Int64) async throws(StorageError) -> Set<String> {
        switch subject {
        case .transaction(let id): return [id.rawValue]
        case .accountToken(let token):
            // Account tokens occur only inside JWS, in the current ones or in replaced ones, and in responses.
            let tokenText = token.uuidString.lowercased()
            let id = dialect.rowID
            var found: Set<String> = []
            for (identifiers, text, table) in [
                ("transactionId", "text", "transactionRecord"), ("transactionId", "text", "supersededTransaction"),
                ("originalTransactionId", "renewal", "subscription"), ("originalTransactionId", "text", "notification"),
                ("originals", "body", "lastGood"),
            ] {
                try await scan(
                    """
                    SELECT \(id), \(identifiers), \(text) FROM \(table)
                    WHERE \(id) > $1 AND +app = $2 AND \(identifiers) IS NOT NULL AND \(text) IS NOT NULL ORDER BY \(id)
                    """, [.integer(app)]
                ) { (row) throws(StorageError) in
                    try row.personalIdentifiers(2).contains(tokenText) ? try row.words(1) : nil
                } _: { words in
                    found.formUnion(words)
                }
            }
            // Customers of imports: the token of their rows, and those of the transactions that were found. Of ids that
            // nothing proves, only a single one is that of these transactions.
            let names =
                "SELECT \(dialect.lines("identifier")) FROM importIdentifier AS own WHERE own.customer = known.id"
            try await scan(
                """
                SELECT known.id, coalesce(claims, (\(names))), coalesce(accountToken, '') || ' ' || coalesce(transactions, '')
                FROM importCustomer AS known JOIN app ON app.bundleId = known.bundleId
                WHERE known.id > $1 AND app.id = $2 AND coalesce(claims, '') NOT LIKE '% %'
                    AND coalesce(accountToken, transactions) IS NOT NULL ORDER BY known.id
                """, [.integer(app)]
            ) { (row) throws(StorageError) in
                try row.personalIdentifiers(inText: 2).contains(tokenText)
                    ? try row.personalIdentifiers(inText: 1) : nil
            } _: { identifiers in
                found.formUnion(identifiers)
            }
            return found
        }
    }
}

extension PersonalDataStore {
    /// Erases a customer in one transaction. Afterwards no read returns the customer's data.
    ///
    /// An engine with files of its own overwrites deleted data, and copies of it elsewhere in the files remain until
    /// ``Store/compact()``. A database server only marks it as deleted: it remains in the pages of the
    /// tables until they are vacuumed and reused, and in the write-ahead log, replicas and backups.
    package func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure {
        // The customer can change each time.
        for _ in 0..<10 {
            let found = try await locate(request)
            guard !found.isEmpty else { return Erasure() }
            if let erasure = try await transaction(lock(found, request, at: now)) { return erasure }
        }
        throw StorageError(.locked, at: place, "the customer changed while it was being erased")
    }

    /// Locks customers and erases them, unless new rows of them were stored since they were located; then the result is
    /// `nil`.
    private func lock(
        _ found: [CustomerSearch], _ request: ErasureRequest, at now: Timestamp
    ) -> SQLStep<Row, Erasure?> {
        let identifiers: [(name: String, app: Int64)] = found.flatMap { search in
            search.identifiers.map { (name: $0, app: search.app) }
        }
        // The slot of erasures makes their ids ascend in the order of the commits.
        let slots = locks(of: identifiers + [(name: "erasure", app: 0)])
        let customers = SQLStatement(
            "SELECT id FROM customer WHERE \(dialect.isAny("id", "$1")) ORDER BY id \(dialect.locking)",
            .integers(found.flatMap(\.customers).sorted()))
        return .run(slots + [customers] + found.map(\.newRows)) { rows in
            guard rows.dropFirst(slots.count + 1).allSatisfy(\.isEmpty) else { return .end(nil) }
            return deletion(of: found[...], Erasure(), request, at: now)
        }
    }

    /// Deletes the rows of the customers, of one after the other: what two of them share counts once.
    private func deletion(
        of found: ArraySlice<CustomerSearch>, _ erasure: Erasure, _ request: ErasureRequest, at now: Timestamp
    ) -> SQLStep<Row, Erasure?> {
        guard let search = found.first else {
            return .end(erasure, after: erasure.isEmpty ? [] : [erasure.statement(at: now)])
        }
        return .run([search.eventKeys, search.counts]) { (rows) throws(StorageError) in
            var keys: [String] = []
            for row in rows[0] {
                if let key = try row.optionalText(0) { keys.append(key) }
            }
            var erasure = erasure
            var statements: [SQLStatement] = []
            for row in rows[1] {
                let footprint = try search.footprint(row)
                erasure.add(footprint, in: search.scope, for: request)
                statements += search.deletions(of: footprint, for: request)
            }
            statements += insertions(of: keys.map(CustomerEvent.erasure), in: search.scope)
            return .run(statements) { [erasure] _ in deletion(of: found.dropFirst(), erasure, request, at: now) }
        }
    }
}
