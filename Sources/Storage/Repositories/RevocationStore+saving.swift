import Base

extension RevocationStore {
    /// Stores revoked purchases, and deletes the revocations of purchases that are valid again. The customers of the
    /// latter are marked for a new lookup.
    package func save(revoked: [RevocationRow], valid: [String], of scope: AppScope) async throws(StorageError) {
        guard !revoked.isEmpty || !valid.isEmpty else { return }
        let app = try await appID(of: scope)
        let ids = revoked.map(\.transactionId) + valid
        let locks = locks(of: ids, app: app) + customerLocks(of: valid, downloads: [], app: app)
        let changes =
            RevocationRow.save(revoked, app: app, dialect) + RevocationRow.delete(valid, app: app, dialect)
            + (valid.isEmpty ? [] : [markStale(customersOf: valid, app: app)])
            + announcements(of: StoredChange(revoked: revoked, valid: valid, in: scope), app: app)
        guard recordsEvents else { return try await write(locks + changes) }
        let known = known(ids, app: app)
        try await transaction(
            SQLStep<Row, Void>.run(locks + [known]) { (rows) throws(StorageError) in
                let events = try events(revoked, valid, rows[locks.count])
                return .run(insertions(of: events, in: scope) + changes) { _ in .end(()) }
            })
    }

    /// The record may still say that the purchase is revoked. A lookup that was signed after the record decides.
    private func markStale(customersOf valid: [String], app: Int64) -> SQLStatement {
        SQLStatement(
            """
            UPDATE customer SET
                needsLookupSince = \(dialect.greatest("coalesce(needsLookupSince, 0)", "record.signedDate + 1"))
            FROM (
                SELECT customer, max(signedDate) AS signedDate FROM transactionRecord
                WHERE \(dialect.isAny("transactionId", "$1")) AND app = $2 GROUP BY customer) AS record
            WHERE customer.id = record.customer
            """, .texts(valid), .integer(app))
    }

    // MARK: - Events

    /// Reads the dates of stored revocations, and the keys of the customers with these transactions.
    private func known(_ ids: [String], app: Int64) -> SQLStatement {
        SQLStatement(
            """
            SELECT wanted.id, revocation.date, coalesce(
                (SELECT \(dialect.eventKey) FROM customer WHERE customer.id = record.customer),
                (SELECT \(dialect.eventKey) FROM customer WHERE customer.id = (
                    SELECT other.customer FROM transactionRecord AS other
                    WHERE other.originalTransactionId = record.originalTransactionId AND other.app = $1
                    AND other.customer IS NOT NULL LIMIT 1)),
                record.originalTransactionId, wanted.id)
            FROM \(dialect.rows([("id", "$2")], as: "wanted"))
            LEFT JOIN revocation ON revocation.transactionId = wanted.id AND revocation.app = $1
            LEFT JOIN transactionRecord AS record ON record.transactionId = wanted.id AND record.app = $1
            """, .integer(app), .texts(ids))
    }

    /// Returns the events of the changes that the database does not have yet.
    private func events(
        _ revoked: [RevocationRow], _ valid: [String], _ rows: [Row]
    ) throws(StorageError) -> [CustomerEvent] {
        var known: [String: (date: Timestamp?, customer: String)] = [:]
        for row in rows {
            let id = try row.text(0)
            let date = try intact(row) { (row) throws(StorageError) in try row.optionalTimestamp(1) }
            known[id] = (date, try intact(row) { (row) throws(StorageError) in try row.text(2) } ?? id)
        }
        var changes = RevocationEvents()
        for row in revoked where known[row.transactionId]?.date != row.date {
            changes.add(row, of: known[row.transactionId]?.customer ?? row.transactionId)
        }
        for id in valid {
            if let known = known[id], known.date != nil { changes.add(reversed: id, of: known.customer) }
        }
        return changes.events
    }
}
