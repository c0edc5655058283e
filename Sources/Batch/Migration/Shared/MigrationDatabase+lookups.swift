import Base
import PostgreSQLClient
import Reports

/// The customers to be looked up. Only the worker with the lease of ``SharedWork/ask`` changes them.
extension MigrationDatabase {
    /// Returns the apps and environments of all migrations. Ids without a receipt have no environment.
    func scopes() async throws(RunError) -> [(id: Int64, bundleId: String, hasEnvironment: Bool)] {
        try await rows("SELECT id, bundleId, environment <> '' FROM migrationScope ORDER BY id") {
            (id: try $0.integer(0), bundleId: try $0.text(1), hasEnvironment: try $0.boolean(2))
        }
    }

    /// Returns customers whose lookup is pending.
    ///
    /// - Parameters:
    ///   - isActiveFirst: those with the latest expiry dates first, otherwise in the order in which they were found.
    ///   - keys: customers to leave out.
    func waitingCustomers(
        of migration: Int64, in scope: Int64, isActiveFirst: Bool, except keys: [Int64]
    ) async throws(RunError) -> [MigrationCustomer] {
        try await rows(
            """
            SELECT c.key, s.bundleId, coalesce(c.environment, s.environment), c.claims,
                ARRAY(SELECT identifier FROM migrationIdentifier i WHERE i.customer = c.key
                    ORDER BY identifier LIMIT \(MigrationStore.maximumIdentifiers))
            FROM migrationCustomer c JOIN migrationScope s ON s.id = c.scope
            WHERE c.migration = $1 AND c.scope = $2 AND c.state = 0 AND c.key <> ALL ($3::bigint[])
            ORDER BY \(isActiveFirst ? "c.expires DESC NULLS LAST, " : "")c.key LIMIT 256
            """, [.integer(migration), .integer(scope), .integers(keys)]
        ) { row in
            let stored = try row.texts(4)
            let claims = try row.optionalText(3)
            let download = stored.first { $0.hasPrefix("download:") }.map { String($0.dropFirst(9)) }
            let identifiers = claims?.split(separator: " ").map(String.init) ?? stored
            return MigrationCustomer(
                key: try row.integer(0), bundleId: try row.text(1), environment: try row.text(2),
                identifiers: download == nil ? identifiers : [], appTransactionId: download, accountToken: nil,
                previousLookup: nil)
        }
    }

    /// Queues customers for a retry whose lookup failed before a time.
    func retryFailedCustomers(before time: Int64, _ lease: WorkLease) async throws(RunError) {
        try await run(
            """
            UPDATE migrationCustomer SET state = 0
            WHERE migration = $1 AND state = 3 AND askedAt < $5 AND \(WorkLease.condition)
            """, lease.arguments + [.integer(time)], within: Self.longLimit)
    }

    /// Returns whether a customer is waiting, or failed before a time.
    func hasWaitingCustomers(
        of migration: Int64, in scopes: [Int64], failedBefore time: Int64
    ) async throws(RunError) -> Bool {
        try await rows(
            """
            SELECT EXISTS (SELECT 1 FROM migrationCustomer WHERE migration = $1 AND scope = ANY ($2::bigint[]) AND state = 0)
                OR EXISTS (SELECT 1 FROM migrationCustomer WHERE migration = $1 AND scope = ANY ($2::bigint[])
                    AND state = 3 AND askedAt < $3)
            """, [.integer(migration), .integers(scopes), .integer(time)]
        ) { try $0.boolean(0) }.first ?? false
    }

    /// Stores the result of a lookup in the customer and its rows. Waiting customers with an id of the history are
    /// merged into it. Does nothing if the lease has passed to another worker, or if the customer was merged into
    /// another one.
    ///
    /// - Returns: The customers that were merged into this one.
    func record(
        _ result: CustomerLookupResult, of customer: MigrationCustomer, in scope: Int64, _ lease: WorkLease
    ) async throws(RunError) -> [Int64] {
        let others = try await waitingCustomers(sharing: result, with: customer, in: scope, lease.migration)
        let key = PostgreSQLValue.integer(customer.key)
        var queries = [state(result, key, lease)]
        if !others.isEmpty {
            let merged = PostgreSQLValue.integers(others)
            for table in ["migrationIdentifier", "results"] {
                queries.append(
                    PostgreSQLQuery(
                        """
                        UPDATE \(table) SET customer = $5 WHERE customer = ANY ($6::bigint[]) AND \(WorkLease.condition)
                        """, lease.arguments + [key, merged]))
            }
            queries.append(
                PostgreSQLQuery(
                    "DELETE FROM migrationCustomer WHERE key = ANY ($5::bigint[]) AND \(WorkLease.condition)",
                    lease.arguments + [merged]))
        }
        queries.append(columns(result, key, lease))
        try await run(queries)
        return others
    }

    private func waitingCustomers(
        sharing result: CustomerLookupResult, with customer: MigrationCustomer, in scope: Int64, _ migration: Int64
    ) async throws(RunError) -> [Int64] {
        // A customer of a download is never merged with another one. One of rows that are not authentic is merged if
        // they name nothing but an id of this history, which then must be that of one customer.
        guard case .known(let columns) = result, !columns.identifiers.isEmpty, customer.appTransactionId == nil else {
            return []
        }
        return try await rows(
            """
            SELECT other.key FROM migrationIdentifier i JOIN migrationCustomer other ON other.key = i.customer
            WHERE i.migration = $1 AND i.scope = $2 AND i.identifier = ANY ($3::text[]) AND other.state = 0
                AND other.key <> $4
                AND EXISTS (SELECT 1 FROM migrationCustomer WHERE key = $4 AND claims IS NULL)
            UNION
            SELECT other.key FROM migrationScope own JOIN migrationScope s ON s.bundleId = own.bundleId
            JOIN migrationIdentifier i ON i.scope = s.id JOIN migrationCustomer other ON other.key = i.customer
            WHERE own.id = $2 AND i.migration = $1 AND i.identifier = ANY ($5::text[]) AND other.state = 0
                AND other.key <> $4
                AND EXISTS (SELECT 1 FROM migrationCustomer WHERE key = $4 AND coalesce(claims, '') NOT LIKE '% %')
            """,
            [
                .integer(migration), .integer(scope), .texts(columns.identifiers.map(\.withoutNull)),
                .integer(customer.key), .texts(columns.identifiers.map { ChunkCustomers.claim([$0]) }),
            ]
        ) { try $0.integer(0) }
    }

    private func state(_ result: CustomerLookupResult, _ key: PostgreSQLValue, _ lease: WorkLease) -> PostgreSQLQuery {
        let (reason, environment): (String?, String?) =
            switch result {
            case .known(let columns): (nil, columns.environment)
            case .notFound(let reason), .failed(let reason): (reason, nil)
            }
        return PostgreSQLQuery(
            """
            UPDATE migrationCustomer SET state = $6, reason = nullif($7, ''),
                environment = coalesce(nullif($8, ''), environment), askedAt = \(Self.clock)
            WHERE key = $5 AND \(WorkLease.condition)
            """,
            lease.arguments + [key, .integer(result.state.rawValue), .text(reason ?? ""), .text(environment ?? "")])
    }

    private func columns(
        _ result: CustomerLookupResult, _ key: PostgreSQLValue, _ lease: WorkLease
    ) -> PostgreSQLQuery {
        func text(_ bytes: [UInt8]) -> PostgreSQLValue { .text(String(decoding: bytes, as: UTF8.self).withoutNull) }
        switch result {
        case .known(let columns):
            let api = columns.api
            return PostgreSQLQuery(
                """
                UPDATE results SET outcome = 'migrated',
                    reason = CASE WHEN outcome IN ('failed', 'notFound') THEN NULL ELSE reason END,
                    appAppleId = nullif($6, -1), transactions = $7, subscriptions = $8, signedTransactions = $9,
                    revision = nullif($10, ''), appTransaction = nullif($11, ''),
                    environment = CASE WHEN digest IS NULL THEN $12 ELSE environment END
                WHERE customer = $5 AND \(WorkLease.condition)
                """,
                lease.arguments + [
                    key, .integer(api.appAppleId ?? -1), text(api.transactions), text(api.subscriptions),
                    text(api.signedTransactions), .text(api.revision ?? ""), text(api.appTransaction ?? []),
                    .text(columns.environment.withoutNull),
                ])
        case .notFound(let reason): return outcome(.notFound, reason, key, lease)
        case .failed(let reason): return outcome(.failed, reason, key, lease)
        }
    }

    private func outcome(
        _ outcome: Outcome, _ reason: String, _ key: PostgreSQLValue, _ lease: WorkLease
    ) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            UPDATE results SET outcome = $6, reason = $7 WHERE customer = $5 AND \(WorkLease.condition)
            """, lease.arguments + [key, .text(outcome.rawValue), .text(reason.withoutNull)])
    }
}

// MARK: - Totals

extension MigrationDatabase {
    /// Adds calls of this worker to those of the migration.
    func add(calls: Int64, to migration: Int64) async throws(RunError) {
        guard calls > 0 else { return }
        try await run(
            "UPDATE migration SET calls = calls + $2 WHERE id = $1", [.integer(migration), .integer(calls)])
    }

    func calls(of migration: Int64) async throws(RunError) -> Int64 {
        try await rows("SELECT calls FROM migration WHERE id = $1", [.integer(migration)]) {
            try $0.integer(0)
        }.first ?? 0
    }

    /// Returns the number of rows by outcome, and by reason.
    func outcomes(
        of migration: Int64, _ shard: SharedMigrationOptions.Shard
    ) async throws(RunError) -> (outcomes: [Outcome: Int64], reasons: [String: Int64]) {
        let rows = try await rows(
            """
            SELECT outcome, reason, count(*) FROM results
            WHERE migration = $1 AND chunk % $2::bigint = $3::bigint GROUP BY outcome, reason
            """, [.integer(migration), .integer(shard.count), .integer(shard.index)], within: Self.longLimit
        ) { (outcome: try $0.text(0), reason: try $0.optionalText(1), count: try $0.integer(2)) }
        var (outcomes, reasons): ([Outcome: Int64], [String: Int64]) = ([:], [:])
        for row in rows {
            guard let outcome = Outcome(rawValue: row.outcome) else { continue }
            outcomes[outcome, default: 0] += row.count
            if let reason = row.reason { reasons[reason, default: 0] += row.count }
        }
        return (outcomes, reasons)
    }

    /// Returns the number of customers by state.
    func tally(of migration: Int64, _ scopes: [Int64]) async throws(RunError) -> CustomerTally {
        CustomerTally(
            try await rows(
                """
                SELECT state, count(*) FROM migrationCustomer WHERE migration = $1 AND scope = ANY ($2::bigint[])
                GROUP BY state
                """, [.integer(migration), .integers(scopes)], within: Self.longLimit
            ) { (try $0.integer(0), try $0.integer(1)) })
    }

    /// Returns the number of waiting customers whose subscriptions have not expired, by their receipts.
    func activeCustomers(of migration: Int64, _ scopes: [Int64]) async throws(RunError) -> Int64 {
        try await rows(
            """
            SELECT count(*) FROM migrationCustomer WHERE migration = $1 AND scope = ANY ($2::bigint[]) AND state = 0
                AND expires > \(Self.clock)
            """, [.integer(migration), .integers(scopes)], within: Self.longLimit
        ) { try $0.integer(0) }.first ?? 0
    }
}
