import Base
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
        queries.append(PostgreSQLQuery(add(StoredChange(revoked: revoked, valid: valid, in: scope), app: app)))
        guard recordsEvents else {
            try await write(locks + queries)
            return
        }
        try await transaction { [queries] transaction in
            _ = try await transaction.run(locks + [PostgreSQLQuery(Self.allocation)])
            let events = try await Self.events(revoked: revoked, valid: valid, app: app, in: transaction)
            _ = try await transaction.run(
                (events.isEmpty ? [] : [PostgreSQLQuery(Self.insert(events, in: scope))]) + queries)
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
