import Base
import PostgreSQLClient
import Storage

/// Stores the refunds of one customer's refund history.
struct RefundWrite: Sendable {
    private let refunds: [RefundRow]
    /// The encoded transactions of the refunds.
    private let texts: [EncodedJWS]
    private let app: Int64
    private let scope: AppScope
    private let source: EventSource
    private let recordsEvents: Bool
    private let reports: Reports

    /// The forwarding targets to which unknown refunds are reported.
    struct Reports: Sendable {
        let targetKeys: [ForwardingTargetKey]
        /// The time of the reports.
        let at: Timestamp
    }

    init(
        _ refunds: [RefundRow], as texts: [EncodedJWS], app: Int64, scope: AppScope, source: EventSource,
        recordsEvents: Bool, reports: Reports
    ) {
        self.refunds = refunds
        self.texts = texts
        self.app = app
        self.scope = scope
        self.source = source
        self.recordsEvents = recordsEvents
        self.reports = reports
    }

    /// Locks what the refunds change, and returns the statements that store them, and the number of refunds that were not
    /// known.
    func queries(
        in transaction: PostgreSQLTransaction
    ) async throws -> (queries: [PostgreSQLQuery], unknown: Int) {
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
                SELECT transactionId, signedDate, text FROM transactionRecord
                WHERE app = $1 AND transactionId = ANY ($2::text[])
                """, ids),
        ])
        var stored: [String: EncodedJWS] = [:]
        for row in results[3].rows { stored[try row.text(0)] = try row.jws(2) }
        var revoked = try Self.dates(in: results[2])
        var signed = try Self.dates(in: results[3])
        var records: [RecordRow] = []
        var unknown: [CustomerReport] = []
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
            records.append(record(row, as: text, needsLookup: cause.needsLookup))
            guard isLatest, stored[row.transactionId].map({ text.differs(from: $0) }) ?? true else { continue }
            unknown.append(report(row, as: text))
        }
        let statement = RecordStatement(hasNotifications: false, hasEvents: recordsEvents)
        let queries =
            (recordsEvents ? [PostgreSQLQuery(PostgreSQLStore.allocation)] : []) + statement.queries(records, writer: 0)
            + zip(refunds, texts).map { insert($0, as: $1) }
            + CustomerReport.statements(unknown, to: reports.targetKeys, app: app, .postgreSQL)
            .map(PostgreSQLQuery.init)
        return (queries, unknown.count)
    }

    private func report(_ row: TransactionRow, as text: EncodedJWS) -> CustomerReport {
        let event = CustomerEvent(row, as: text, of: row.originalTransactionId, source: source)
        return CustomerReport(event, about: row.originalTransactionId, in: scope, at: reports.at)
    }

    private func record(_ row: TransactionRow, as text: EncodedJWS, needsLookup: Bool) -> RecordRow {
        var record = RecordRow(
            app: app, clock: row.signedDate, about: row.originalTransactionId, needsLookup: needsLookup)
        record.add(row, as: text)
        if recordsEvents { record.addRefundEvent(row, as: text, source: source, in: scope) }
        return record
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
