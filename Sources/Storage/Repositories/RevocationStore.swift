import Base

/// Revoked purchases, and the customer identifiers of receipts without a purchase. Both are what verifyReceipt
/// responses reveal. The latest are loaded into memory at the start, the others are looked up.
package protocol RevocationStore: SQLEngine {}

extension RevocationStore {
    /// Returns the latest revocations by scope.
    ///
    /// - Parameter limit: maximum number of revocations of one app and environment.
    package func revocations(limit: Int) async throws(StorageError) -> [AppScope: [RevocationRow]] {
        let apps = try await readIntact(SQLStatement("SELECT id, bundleId, environment FROM app")) {
            (app) throws(StorageError) -> (id: Int64, scope: AppScope)? in
            guard let scope = try app.scope(1, 2) else { return nil }
            return (try app.integer(0), scope)
        }
        var found: [AppScope: [RevocationRow]] = [:]
        for app in apps {
            found[app.scope] = try await readIntact(
                SQLStatement(
                    "SELECT \(RevocationRow.columns) FROM revocation WHERE app = $1 ORDER BY date DESC LIMIT $2",
                    .integer(app.id), .integer(Int64(limit))), RevocationRow.init)
        }
        return found
    }

    /// Returns the revocations of these purchases. Purchases that are not revoked are left out.
    ///
    /// - Parameters:
    ///   - transactionIds: transaction ids of the purchases.
    ///   - lineItems: web order line item ids of the purchases, which identify a restored purchase too.
    package func revocations(
        of transactionIds: [String], lineItems: [String], in scope: AppScope
    ) async throws(StorageError) -> [RevocationRow] {
        let select = """
            SELECT \(RevocationRow.columns) FROM revocation
            WHERE app = (SELECT id FROM app WHERE bundleId = $1 AND environment = $2)
            """
        // Each part has its own index.
        return try await readIntact(
            SQLStatement(
                """
                \(select) AND \(dialect.isAny("transactionId", "$3"))
                UNION
                \(select) AND \(dialect.isAny("webOrderLineItemId", "$4"))
                """, .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .texts(transactionIds),
                .texts(lineItems)), RevocationRow.init)
    }
}

extension RevocationRow {
    /// The statements that store revocations of one app and replace earlier ones of the same transactions. The slots of
    /// the transactions must be locked.
    static func save(_ rows: [RevocationRow], app: Int64, _ dialect: SQLDialect) -> [SQLStatement] {
        let rows = Dictionary(rows.map { ($0.transactionId, $0) }) { $1 }.values
        return dialect.insert(rows.map { $0.values(app: app) }, into: .revocation, "app, \(columns)", replacing)
    }

    /// The values of the app and of ``columns``.
    func values(app: Int64) -> [SQLValue] {
        [
            .integer(app), .text(transactionId), SQLValue(webOrderLineItemId), SQLValue(date), SQLValue(reason),
            SQLValue(signedDate), SQLValue(askedAt),
        ]
    }

    /// The statements that delete revocations of one app. The slots of the transactions must be locked.
    static func delete(_ transactionIds: [String], app: Int64, _ dialect: SQLDialect) -> [SQLStatement] {
        guard !transactionIds.isEmpty else { return [] }
        return [
            SQLStatement(
                "DELETE FROM revocation WHERE \(dialect.isAny("transactionId", "$1")) AND app = $2",
                .texts(transactionIds), .integer(app))
        ]
    }

    /// The same, by records that were signed at a time, which leaves what verifyReceipt reported afterwards
    /// (``FactTime``).
    static func delete(
        _ transactionIds: [String], signed date: Timestamp, app: Int64, _ dialect: SQLDialect
    ) -> [SQLStatement] {
        guard !transactionIds.isEmpty else { return [] }
        return [
            SQLStatement(
                """
                DELETE FROM revocation WHERE \(dialect.isAny("transactionId", "$1")) AND app = $2
                AND (askedAt IS NULL OR askedAt < $3)
                """, .texts(transactionIds), .integer(app), SQLValue(date.advanced(by: FactTime.clockDifference)))
        ]
    }

    /// End of a statement that inserts revocations: the new one replaces an existing one.
    package static let replacing = """
        ON CONFLICT (transactionId, app) DO UPDATE SET
            webOrderLineItemId = excluded.webOrderLineItemId, date = excluded.date, reason = excluded.reason,
            signedDate = excluded.signedDate, askedAt = excluded.askedAt
        """

    fileprivate static let columns = "transactionId, webOrderLineItemId, date, reason, signedDate, askedAt"

    /// Reads ``columns``.
    @Sendable fileprivate init?(_ row: some SQLRow) throws(StorageError) {
        self.init(
            transactionId: try row.text(0), webOrderLineItemId: try row.optionalText(1), date: try row.timestamp(2),
            reason: try row.optionalInteger(3), signedDate: try row.optionalTimestamp(4),
            askedAt: try row.optionalTimestamp(5))
    }
}
