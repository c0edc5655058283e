package import Base
import GRDB

extension SQLiteStore: RefundStore {
    /// Stores the refund history of a customer. From then on every response takes the refunds into account. A
    /// subscription with a new refund is marked for a lookup, because the refund does not include the subscription's
    /// status.
    ///
    /// - Parameter revision: revision to continue from in the next sweep; `nil` if there is no such history.
    @discardableResult
    package func save(
        _ refunds: [RefundRow], of target: RefundTarget, revision: String?, at now: Timestamp, source: EventSource,
        reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Int {
        let texts = await encoder.encode(refunds.map(\.transaction.text))
        return try await write { [recordsEvents] db in
            let app = try Self.appID(of: target.scope, in: db)
            var unknown = 0
            for (refund, text) in zip(refunds, texts) {
                let row = refund.transaction
                let differs = try Self.differs(text, from: row.transactionId, app: app, in: db)
                guard try Self.save(refund, as: text, app: app, in: db) else { continue }
                let key = try Self.eventKey(of: row.transactionId, row.originalTransactionId, app: app, in: db)
                let event = CustomerEvent(row, as: text, of: key, source: source)
                if recordsEvents { try Self.run(self.insertions(of: [event], in: target.scope), in: db) }
                guard differs else { continue }
                unknown += 1
                let report = CustomerReport(event, about: row.originalTransactionId, in: target.scope, at: now)
                try Self.run(CustomerReport.statements([report], to: targetKeys, app: app, .sqlite), in: db)
            }
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO refundSweep VALUES (?, ?, ?, ?)").execute(
                arguments: [app, target.identifier.rawValue, revision, now.milliseconds])
            return unknown
        }
    }

    /// Returns whether the content of a transaction differs from the stored version, or none is stored.
    private static func differs(
        _ text: EncodedJWS, from transactionId: String, app: Int64, in db: Database
    ) throws -> Bool {
        let stored = try db.row(
            "SELECT text FROM transactionRecord WHERE transactionId = ? AND app = ?", [transactionId, app])
        return stored.map { text.differs(from: $0.jws(0)) } ?? true
    }

    /// Stores a refund. Returns whether its transaction is now the most recently signed one.
    private static func save(_ refund: RefundRow, as text: EncodedJWS, app: Int64, in db: Database) throws -> Bool {
        let row = refund.transaction
        let storedDate = try date(ofRevocation: row.transactionId, app: app, in: db)
        let (isLatest, _) = try applyReportedTransaction(
            row, as: text, app: app, since: row.signedDate, in: WriteTransaction(db))
        let cause = StalenessCause.refund(
            isLatest: isLatest, isSubscription: row.isSubscription,
            isKnownRevocation: storedDate == refund.date.milliseconds)
        if cause.needsLookup {
            try markStale(customersOf: [row.originalTransactionId], app: app, since: row.signedDate, in: db)
        }
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO refund (app, transactionId, date, text) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [app, row.transactionId, refund.date.milliseconds, text.databaseValue])
        return isLatest
    }
}
