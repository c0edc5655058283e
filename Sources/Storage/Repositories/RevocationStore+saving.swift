package import ReceiptBridgeBase

extension RevocationStore {
    /// Stores what an unsigned response to a request of that time says about purchases: those that are revoked, and
    /// those whose revocation it takes back. What Apple said later about one of them stays (``FactTime``). The
    /// customers of purchases that are valid again are marked for a new lookup.
    package func save(
        revoked: [RevocationRow], valid: [String], askedAt: Timestamp, of scope: AppScope
    ) async throws(StorageError) {
        guard !revoked.isEmpty || !valid.isEmpty else { return }
        let app = try await appID(of: scope)
        let ids = revoked.map(\.transactionId) + valid
        let locks = locks(of: ids, app: app) + customerLocks(of: valid, downloads: [], app: app)
        try await transaction(
            SQLStep<Row, Void>.run(locks + [known(ids, app: app)]) { (rows) throws(StorageError) in
                let known = try self.known(rows[locks.count])
                func counts(_ id: String) -> Bool {
                    known[id]?.times.allSatisfy(FactTime.asked(askedAt).counts(over:)) ?? true
                }
                let revoked = revoked.filter { counts($0.transactionId) }
                let valid = valid.filter(counts)
                guard !revoked.isEmpty || !valid.isEmpty else { return .end(()) }
                let changes =
                    RevocationRow.save(revoked, app: app, dialect) + RevocationRow.delete(valid, app: app, dialect)
                    + (valid.isEmpty ? [] : [markStale(customersOf: valid, app: app)])
                    + announcements(of: StoredChange(revoked: revoked, valid: valid, in: scope), app: app)
                let events = recordsEvents ? insertions(of: events(revoked, valid, known), in: scope) : []
                return .end((), after: events + changes)
            })
    }

    /// The record may still say that the purchase is revoked. A lookup that was signed after the record decides.
    private func markStale(customersOf valid: [String], app: Int64) -> SQLStatement {
        SQLStatement(
            """
            UPDATE customer SET
                needsLookupSince = \(dialect.greatest(dialect.time("needsLookupSince"), "record.signedDate + 1"))
            FROM (
                SELECT customer, max(\(dialect.time("signedDate"))) AS signedDate FROM transactionRecord
                WHERE \(dialect.isAny("transactionId", "$1")) AND app = $2 GROUP BY customer) AS record
            WHERE customer.id = record.customer
            """, .texts(valid), .integer(app))
    }

    // MARK: - Events

    /// Reads what is known about some transactions: their stored revocations, the records, and the keys of their
    /// customers.
    private func known(_ ids: [String], app: Int64) -> SQLStatement {
        SQLStatement(
            """
            SELECT wanted.id, revocation.date, revocation.signedDate, revocation.askedAt, record.signedDate, coalesce(
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

    /// Reads the rows of ``known(_:app:)``. What is damaged counts as unknown.
    private func known(_ rows: [Row]) throws(StorageError) -> [String: KnownPurchase] {
        var known: [String: KnownPurchase] = [:]
        for row in rows {
            let id = try row.text(0)
            func time(_ index: Int) throws(StorageError) -> Timestamp? {
                try intact(row) { (row) throws(StorageError) in try row.optionalTimestamp(index) }
            }
            let times: [FactTime?] = [
                try time(2).map { .signed($0) }, try time(3).map { .asked($0) }, try time(4).map { .signed($0) },
            ]
            known[id] = KnownPurchase(
                revokedAt: try time(1), times: times.compactMap(\.self),
                customer: try intact(row) { (row) throws(StorageError) in try row.text(5) } ?? id)
        }
        return known
    }

    /// Returns the events of the changes that the database does not have yet.
    private func events(
        _ revoked: [RevocationRow], _ valid: [String], _ known: [String: KnownPurchase]
    ) -> [CustomerEvent] {
        var changes = RevocationEvents()
        for row in revoked where known[row.transactionId]?.revokedAt != row.date {
            changes.add(row, of: known[row.transactionId]?.customer ?? row.transactionId)
        }
        for id in valid {
            if let known = known[id], known.revokedAt != nil { changes.add(reversed: id, of: known.customer) }
        }
        return changes.events
    }
}

/// What the store knows about a purchase that an unsigned response names.
private struct KnownPurchase {
    /// Date of the stored revocation; `nil` if there is none.
    let revokedAt: Timestamp?
    /// When Apple said what is stored.
    let times: [FactTime]
    let customer: String
}
