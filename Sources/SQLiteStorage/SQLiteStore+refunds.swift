package import Storage
import GRDB
import SQLiteFiles
package import AppStoreTypes

extension SQLiteStore: RefundStore {
    /// Creates the tables of the refund sweep.
    ///
    /// - `refundSweep`: the revision of a customer's refund history, and when it was last read.
    /// - `refund`: refunds found so far. `isTold` is 1 once a refund was reported.
    /// - `refundOutput`: the size in bytes of each output file after the last report, so that a sweep that was killed
    ///   can continue the file.
    static func addRefunds(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE refundSweep (
                    app INTEGER NOT NULL REFERENCES app (id), identifier TEXT NOT NULL, revision TEXT,
                    sweptAt INTEGER NOT NULL, PRIMARY KEY (identifier, app)) WITHOUT ROWID;
                CREATE TABLE refund (
                    id INTEGER PRIMARY KEY, app INTEGER NOT NULL REFERENCES app (id), transactionId TEXT NOT NULL,
                    date INTEGER NOT NULL, text TEXT NOT NULL, isTold INTEGER NOT NULL DEFAULT 0,
                    UNIQUE (transactionId, app, date));
                CREATE INDEX refundUntold ON refund (id) WHERE isTold = 0;
                CREATE TABLE refundOutput (path TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
                """)
    }

    package func refundTargets(
        notSweptSince start: Timestamp, after position: Int64
    ) async throws(StorageError) -> RefundTargetPage {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT record.id, bundleId, environment, record.transactionId, revision,
                    coalesce(sweptAt, -1) < ?
                    AND NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.customer = record.customer AND earlier.id < record.id)
                    AND (record.customer IS NOT NULL OR NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.appTransactionId = record.appTransactionId AND earlier.app = record.app
                            AND earlier.customer IS NULL AND earlier.id < record.id))
                    AND (record.customer IS NOT NULL OR record.appTransactionId IS NOT NULL OR NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.originalTransactionId = record.originalTransactionId
                            AND earlier.app = record.app AND earlier.customer IS NULL
                            AND earlier.appTransactionId IS NULL AND earlier.id < record.id))
                FROM (
                    SELECT id, app, customer, transactionId, originalTransactionId, appTransactionId
                    FROM transactionRecord WHERE id > ? ORDER BY id LIMIT \(RefundTargetPage.size)
                ) AS record
                JOIN app ON app.id = record.app
                LEFT JOIN refundSweep ON identifier = record.transactionId AND refundSweep.app = record.app
                ORDER BY record.id
                """, [start.milliseconds, position])
            try Self.requireAscendingKeys(rows, after: position)
            let targets = try self.intact(rows) { row -> RefundTarget? in
                guard try row.boolean(5), let scope = try row.scope(1, 2),
                    let id = TransactionIdentifier(rawValue: try row.text(3))
                else { return nil }
                return RefundTarget(scope: scope, identifier: id, revision: try row.optionalText(4))
            }
            let isLast = rows.count < RefundTargetPage.size
            return RefundTargetPage(targets: targets, next: isLast ? nil : try rows.last?.integer(0))
        }
    }

    package func countRefundTargets(notSweptSince start: Timestamp) async throws(StorageError) -> Int {
        try await read { db in
            let count = try db.integer(
                """
                SELECT count(*) FROM transactionRecord
                LEFT JOIN refundSweep ON identifier = transactionId AND refundSweep.app = transactionRecord.app
                WHERE coalesce(sweptAt, -1) < ? AND transactionRecord.id IN (
                    SELECT min(id) FROM transactionRecord
                    GROUP BY app, coalesce('c' || customer, 'd' || appTransactionId, 'o' || originalTransactionId))
                """, [start.milliseconds])
            return Int(count ?? 0)
        }
    }

    /// Returns the target of one customer, or `nil` if it was swept at or after that time.
    package func refundTarget(
        _ identifier: TransactionIdentifier, in scope: AppScope, notSweptSince start: Timestamp
    ) async throws(StorageError) -> RefundTarget? {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT revision, sweptAt FROM refundSweep JOIN app ON app.id = app
                WHERE identifier = ? AND bundleId = ? AND environment = ?
                """, [identifier.rawValue, scope.bundleId.rawValue, scope.environment.rawValue])
            // Without a readable row the whole history is read again.
            let swept = try self.intact(rows) { (revision: try $0.optionalText(0), at: try $0.timestamp(1)) }.first
            guard let swept else { return RefundTarget(scope: scope, identifier: identifier, revision: nil) }
            guard swept.at < start else { return nil }
            return RefundTarget(scope: scope, identifier: identifier, revision: swept.revision)
        }
    }

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
                if recordsEvents { try Self.insert([event], in: target.scope, WriteTransaction(db)) }
                guard differs else { continue }
                unknown += 1
                let report = CustomerReport(event, about: row.originalTransactionId, in: target.scope, at: now)
                if !targetKeys.isEmpty { try Self.enqueue([report], to: targetKeys, app: app, in: db) }
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

    /// Returns refunds that have not been reported, in the order in which they were found.
    package func unreportedRefunds(limit: Int) async throws(StorageError) -> [UnreportedRefund] {
        try await read { db in
            try self.page(after: .min, limit: limit) {
                try db.rows(
                    """
                    SELECT refund.id, bundleId, environment, date, text FROM refund JOIN app ON app.id = refund.app
                    WHERE isTold = 0 AND refund.id > ? ORDER BY refund.id LIMIT ?
                    """, [$0, limit])
            } _: { row in
                try row.scope(1, 2).map {
                    UnreportedRefund(
                        id: try row.integer(0), scope: $0, date: try row.timestamp(3),
                        text: try self.text(row, 4, in: db))
                }
            }
        }
    }

    /// Marks refunds as reported. If they were written to a file, records the new size of the file.
    package func markReported(_ refunds: [UnreportedRefund], in output: (path: String, size: Int64)?)
        async throws(StorageError)
    {
        let ids = refunds.map(\.id)
        try await write { db in
            for id in ids {
                try db.cachedStatement(sql: "UPDATE refund SET isTold = 1 WHERE id = ?").execute(arguments: [id])
            }
            if let output {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO refundOutput VALUES (?, ?)", arguments: [output.path, output.size])
            }
        }
    }

    /// Records a new output file before anything is written to it. So a sweep that is killed recognizes the file as
    /// its own when it resumes.
    package func beginRefundOutput(_ path: String) async throws(StorageError) {
        try await write { db in
            try db.execute(sql: "INSERT OR REPLACE INTO refundOutput VALUES (?, 0)", arguments: [path])
        }
    }

    /// Removes the record of an output file after a completed sweep that wrote nothing. A later file at that path
    /// belongs to another program.
    package func endRefundOutput(_ path: String) async throws(StorageError) {
        try await write { db in
            try db.execute(sql: "DELETE FROM refundOutput WHERE path = ? AND size = 0", arguments: [path])
        }
    }

    /// Returns the recorded size of an output file in bytes, or `nil` if none is recorded.
    package func sizeOfRefundOutput(_ path: String) async throws(StorageError) -> Int64? {
        try await read { db in
            try db.integer("SELECT size FROM refundOutput WHERE path = ?", [path])
        }
    }
}
