import ReceiptBridgeBase

/// Revoked purchases, and the customer identifiers of receipts without a purchase. Both are what verifyReceipt
/// responses reveal.
package protocol RevocationStore: SQLEngine {}

/// A page of revoked purchases, ascending by transaction id and app.
package struct RevokedPurchases: Sendable {
    /// The last row of a page.
    package struct Position: Sendable, Hashable {
        package let transactionId: String
        package let app: Int64

        package static let start = Position(transactionId: "", app: 0)
    }

    package let rows: [(scope: AppScope, row: RevocationRow)]
    /// Where the next page begins; `nil` after the last one.
    package let next: Position?
}

extension RevocationStore {
    /// Returns all revoked purchases in pages. Damaged rows are left out.
    package func revokedPurchases(
        after position: RevokedPurchases.Position, limit: Int = 10_000
    ) async throws(StorageError) -> RevokedPurchases {
        typealias Found = (row: RevocationRow, app: Int64, scope: AppScope?)
        let rows = try await read(
            SQLStatement(
                """
                SELECT \(RevocationRow.columns), page.app, bundleId, environment FROM (
                    SELECT \(RevocationRow.columns), app FROM revocation
                    WHERE (transactionId, app) > ($1, $2) ORDER BY transactionId, app LIMIT $3
                ) AS page LEFT JOIN app ON app.id = page.app ORDER BY transactionId, page.app
                """, .text(position.transactionId), .integer(position.app), .integer(Int64(limit)))
        ) { (row) throws(StorageError) -> Found?? in
            // A damaged row counts as a row of the page.
            .some(
                try self.intact(row) { (row) throws(StorageError) in
                    (row: try RevocationRow(row), app: try row.rowID(6), scope: try row.scope(7, 8))
                })
        }
        let intact = rows.compactMap(\.self)
        let last = intact.last.map { RevokedPurchases.Position(transactionId: $0.row.transactionId, app: $0.app) }
        // Without a later position, reading would never end.
        return RevokedPurchases(
            rows: intact.compactMap { found in found.scope.map { ($0, found.row) } },
            next: rows.count < limit || last == position ? nil : last)
    }

    /// Returns the revocations of these purchases, by their transaction ids and by their web order line item ids, which
    /// identify a restored purchase too. Purchases that are not revoked are left out.
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

    @Sendable fileprivate init(_ row: some SQLRow) throws(StorageError) {
        self.init(
            transactionId: try row.text(0), webOrderLineItemId: try row.optionalText(1), date: try row.timestamp(2),
            reason: try row.optionalInteger(3), signedDate: try row.optionalTimestamp(4),
            askedAt: try row.optionalTimestamp(5))
    }
}
