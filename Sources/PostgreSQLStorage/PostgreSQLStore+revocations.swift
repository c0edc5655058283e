package import AppStoreTypes
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: RevocationStore {
    /// End of a statement that inserts revocations: the new one replaces an existing one.
    static let replacingRevocation = """
        ON CONFLICT (transactionId, app) DO UPDATE SET
            webOrderLineItemId = excluded.webOrderLineItemId, date = excluded.date, reason = excluded.reason,
            signedDate = excluded.signedDate
        """

    package func save(revoked: [RevocationRow], valid: [String], of scope: AppScope) async throws(StorageError) {
        guard !revoked.isEmpty || !valid.isEmpty else { return }
        let app = try await appID(of: scope)
        var customers = CustomerLocks()
        for id in valid { customers.add(id, app: app) }
        let locks = [LockSlot.lock(revoked.map(\.transactionId) + valid, app: app), customers.query]
        var queries: [PostgreSQLQuery] = []
        if !revoked.isEmpty { queries.append(Self.save(revoked, app: app)) }
        if !valid.isEmpty {
            queries += [
                Self.deleteRevocations(of: valid, app: app),
                // The record may still say that the purchase is revoked. A lookup that was signed after the record
                // decides.
                PostgreSQLQuery(
                    """
                    UPDATE customer SET needsLookupSince = greatest(needsLookupSince, record.signedDate + 1)
                    FROM (SELECT customer, max(signedDate) AS signedDate FROM transactionRecord
                        WHERE transactionId = ANY ($1::text[]) AND app = $2 GROUP BY customer) AS record
                    WHERE customer.id = record.customer
                    """, [.texts(valid), .integer(app)]),
            ]
        }
        queries.append(add(StoredChange(revoked: revoked, valid: valid, in: scope), app: app))
        guard recordsEvents else {
            try await write(locks + queries)
            return
        }
        try await transaction { [queries] transaction in
            _ = try await transaction.run(locks + [Self.allocation])
            let events = try await Self.events(revoked: revoked, valid: valid, app: app, in: transaction)
            _ = try await transaction.run((events.isEmpty ? [] : [Self.insert(events, in: scope)]) + queries)
        }
    }

    package func revocations(limit: Int) async throws(StorageError) -> [AppScope: [RevocationRow]] {
        let rows = try await read(
            """
            SELECT bundleId, environment, found.transactionId, found.webOrderLineItemId, found.date, found.reason,
                found.signedDate
            FROM app LEFT JOIN LATERAL (
                SELECT * FROM revocation WHERE revocation.app = app.id ORDER BY date DESC LIMIT $1) AS found ON true
            ORDER BY app.id, found.date DESC
            """, [.integer(Int64(limit))])
        return try value { () throws(PostgreSQLError) in
            var found: [AppScope: [RevocationRow]] = [:]
            for row in rows {
                guard let bundleId = BundleIdentifier(rawValue: try row.text(0)),
                    let environment = AppStoreEnvironment(rawValue: try row.text(1))
                else { continue }
                let scope = AppScope(bundleId: bundleId, environment: environment)
                guard let id = try row.optionalText(2) else {
                    found[scope] = []
                    continue
                }
                found[scope, default: []].append(
                    RevocationRow(
                        transactionId: id, webOrderLineItemId: try row.optionalText(3), date: try row.timestamp(4),
                        reason: try row.optionalInteger(5), signedDate: try row.optionalTimestamp(6)))
            }
            return found
        }
    }

    /// Stores revocations of one app and replaces earlier ones of the same transactions. The slots of the transactions
    /// must be locked.
    static func save(_ rows: [RevocationRow], app: Int64) -> PostgreSQLQuery {
        let rows = Dictionary(rows.map { ($0.transactionId, $0) }) { $1 }.values
        // An array of parameters has no null.
        let none = Int64.min
        let isNone = "'\(none)'::bigint"
        return PostgreSQLQuery(
            """
            INSERT INTO revocation (app, transactionId, webOrderLineItemId, date, reason, signedDate)
            SELECT $1::bigint, id, nullif(lineItem, ''), date, nullif(reason, \(isNone)),
                nullif(signedDate, \(isNone))
            FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
                AS new (id, lineItem, date, reason, signedDate)
            \(replacingRevocation)
            """,
            [
                .integer(app), .texts(rows.map(\.transactionId)), .texts(rows.map { $0.webOrderLineItemId ?? "" }),
                .integers(rows.map(\.date.milliseconds)), .integers(rows.map { $0.reason ?? none }),
                .integers(rows.map { $0.signedDate?.milliseconds ?? none }),
            ])
    }

    /// Deletes revocations of one app. The slots of the transactions must be locked.
    static func deleteRevocations(of transactionIds: [String], app: Int64) -> PostgreSQLQuery {
        PostgreSQLQuery(
            "DELETE FROM revocation WHERE transactionId = ANY ($1::text[]) AND app = $2",
            [.texts(transactionIds), .integer(app)])
    }
}

/// The customer identifiers of receipts that contain no purchase, as Apple returned them once.
extension PostgreSQLStore {
    /// Maximum number of receipts that are stored of one customer.
    private static let receiptsPerCustomer = 8

    package func saveIdentifiers(
        _ keys: CustomerIdentifiers, of receipt: [UInt8], at now: Timestamp
    ) async throws(StorageError) {
        func text(_ identifiers: [TransactionIdentifier]) -> String {
            identifiers.map(\.rawValue).joined(separator: " ")
        }
        let (originals, others) = (text(keys.originalTransactionIds), text(keys.transactionIds))
        let values: [PostgreSQLValue] = [.bytes(receipt), .text(originals), .text(others)]
        try await write([
            // The identifiers belong to no app.
            LockSlot.lock(["\(originals),\(others)"], app: 0),
            PostgreSQLQuery(
                """
                INSERT INTO learntIdentifiers (receipt, originals, others, learntAt) VALUES ($1, $2, $3, $4)
                ON CONFLICT (receipt) DO UPDATE SET
                    learntAt = excluded.learntAt, originals = excluded.originals, others = excluded.others
                """, values + [PostgreSQLValue(now)]),
            PostgreSQLQuery(
                """
                DELETE FROM learntIdentifiers WHERE receipt IN (
                    SELECT receipt FROM learntIdentifiers WHERE receipt <> $1 AND originals = $2 AND others = $3
                    ORDER BY learntAt DESC OFFSET \(Self.receiptsPerCustomer - 1))
                """, values),
        ])
    }

    package func customerIdentifiersByReceipt(
        limit: Int
    ) async throws(StorageError) -> [(receipt: [UInt8], keys: CustomerIdentifiers)] {
        let rows = try await read(
            "SELECT receipt, originals, others FROM learntIdentifiers ORDER BY learntAt DESC LIMIT $1",
            [.integer(Int64(limit))])
        func identifiers(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
        return try value { () throws(PostgreSQLError) in
            try rows.reversed().map { row throws(PostgreSQLError) in
                let keys = CustomerIdentifiers(
                    originalTransactionIds: identifiers(try row.text(1)),
                    transactionIds: identifiers(try row.text(2)))
                return (try row.bytes(0), keys)
            }
        }
    }
}
