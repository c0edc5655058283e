import AppStoreTypes
import PostgreSQLClient
import Storage

/// Stores the refunds of one customer's refund history.
struct RefundWrite: Sendable {
    private let refunds: [RefundRow]
    /// The encoded transactions of the refunds.
    private let texts: [EncodedJWS]
    private let app: Int64
    private let source: EventSource
    /// The app of the events; `nil` if none are stored.
    private let scope: AppScope?

    init(_ refunds: [RefundRow], as texts: [EncodedJWS], app: Int64, source: EventSource, eventsIn scope: AppScope?) {
        self.refunds = refunds
        self.texts = texts
        self.app = app
        self.source = source
        self.scope = scope
    }

    /// Locks what the refunds change, and returns the statements that store them.
    func queries(in transaction: PostgreSQLTransaction) async throws -> [PostgreSQLQuery] {
        let rows = refunds.map(\.transaction)
        var customers = CustomerLocks()
        for row in rows {
            customers.add(row.originalTransactionId, app: app)
            customers.add(row.previousOriginalTransactionId, app: app)
            customers.add(download: row.appTransactionId, app: app)
        }
        let ids: [PostgreSQLValue] = [.integer(app), .texts(rows.map(\.transactionId))]
        let results = try await transaction.run([
            LockSlot.lock(rows.flatMap { [$0.transactionId, $0.originalTransactionId] }, app: app), customers.query,
            PostgreSQLQuery(
                "SELECT transactionId, date FROM revocation WHERE app = $1 AND transactionId = ANY ($2::text[])", ids),
            PostgreSQLQuery(
                """
                SELECT transactionId, signedDate FROM transactionRecord
                WHERE app = $1 AND transactionId = ANY ($2::text[])
                """, ids),
        ])
        var revoked = try Self.dates(in: results[2])
        var signed = try Self.dates(in: results[3])
        var queries = scope == nil ? [] : [PostgreSQLStore.allocation]
        for (refund, text) in zip(refunds, texts) {
            let row = refund.transaction
            let isLatest = RecordChange(reported: row.signedDate, stored: signed[row.transactionId]).isNew
            let cause = StalenessCause.refund(
                isLatest: isLatest, isSubscription: row.isSubscription,
                isKnownRevocation: revoked[row.transactionId] == refund.date)
            if isLatest {
                signed[row.transactionId] = row.signedDate
                revoked[row.transactionId] = row.revocation?.date
            }
            queries += [store(row, as: text, needsLookup: cause.needsLookup), insert(refund, as: text)]
        }
        return queries
    }

    private func store(_ row: TransactionRow, as text: EncodedJWS, needsLookup: Bool) -> PostgreSQLQuery {
        var statement = RecordStatement(
            app: app, clock: row.signedDate, about: row.originalTransactionId, needsLookup: needsLookup)
        statement.add(row, as: text)
        if let scope { statement.addRefundEvent(row, as: text, source: source, in: scope) }
        return statement.query
    }

    private func insert(_ refund: RefundRow, as text: EncodedJWS) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            INSERT INTO refund (app, transactionId, date, text) VALUES ($1, $2, $3, $4)
            ON CONFLICT (transactionId, app, date) DO NOTHING
            """,
            [
                .integer(app), .text(refund.transaction.transactionId), PostgreSQLValue(refund.date),
                .bytes(text.columnBytes),
            ])
    }

    private static func dates(in result: PostgreSQLResult) throws(PostgreSQLError) -> [String: Timestamp] {
        var dates: [String: Timestamp] = [:]
        for row in result.rows { dates[try row.text(0)] = try row.timestamp(1) }
        return dates
    }
}
