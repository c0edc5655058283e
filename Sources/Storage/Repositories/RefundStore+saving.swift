package import Base

/// The transactions of one customer's refund history, which each engine stores as it stores those of notifications.
package struct ReportedHistory: Sendable {
    /// A transaction, and whether its customer needs a lookup in any case.
    package typealias Record = (row: TransactionRow, text: EncodedJWS, needsLookup: Bool)

    package let app: Int64
    package let scope: AppScope
    package let source: EventSource
    package fileprivate(set) var records: [Record] = []
    fileprivate var unknown: [CustomerReport] = []
}

extension RefundStore {
    /// Stores the refund history of a customer. From then on every response takes the refunds into account. A
    /// subscription with a new refund is marked for a lookup, because the refund does not include the subscription's
    /// status.
    ///
    /// - Parameters:
    ///   - revision: revision to continue from in the next sweep; `nil` if there is no such history.
    ///   - source: becomes part of the events.
    ///   - targetKeys: the targets to which refunds are forwarded that were not known, see ``CustomerReport``.
    /// - Returns: the number of refunds that were not known.
    @discardableResult
    package func save(
        _ refunds: [RefundRow], of target: RefundTarget, revision: String?, at now: Timestamp,
        source: EventSource = .refundSweep, reportingTo targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> Int {
        let texts = await encoder.encode(refunds.map(\.transaction.text))
        let app = try await appID(of: target.scope)
        let sweep = SQLStatement(
            """
            INSERT INTO refundSweep (app, identifier, revision, sweptAt) VALUES ($1, $2, $3, $4)
            ON CONFLICT (identifier, app) DO UPDATE SET revision = excluded.revision, sweptAt = excluded.sweptAt
            """, .integer(app), .text(target.identifier.rawValue), SQLValue(revision), SQLValue(now))
        guard !refunds.isEmpty else {
            try await write([sweep])
            return 0
        }
        let rows = refunds.map(\.transaction)
        let originals = rows.map(\.originalTransactionId)
        let locks =
            locks(of: rows.map(\.transactionId) + originals, app: app)
            + customerLocks(
                of: originals + rows.compactMap(\.previousOriginalTransactionId),
                downloads: rows.compactMap(\.appTransactionId), app: app)
        let inserts = dialect.insert(
            zip(refunds, texts).map { refund, text in
                [.integer(app), .text(refund.transaction.transactionId), SQLValue(refund.date), .jws(text)]
            }, into: .refund, "app, transactionId, date, text", "ON CONFLICT (transactionId, app, date) DO NOTHING")
        let others = [sweep] + announcements(of: StoredChange(refunds, in: target.scope), app: app)
        return try await transaction(
            SQLStep<Row, Int>.run(locks + known(rows, app: app)) { (found) throws(StorageError) in
                var history = ReportedHistory(app: app, scope: target.scope, source: source)
                try add(refunds, as: texts, to: &history, known: Array(found.dropFirst(locks.count)), at: now)
                let reports = CustomerReport.statements(history.unknown, to: targetKeys, app: app, dialect)
                return .store(history, .run(inserts + reports + others) { [history] _ in .end(history.unknown.count) })
            })
    }

    /// Reads the dates of the stored revocations, and the stored versions of the transactions.
    private func known(_ rows: [TransactionRow], app: Int64) -> [SQLStatement] {
        let condition = "app = $1 AND \(dialect.isAny("transactionId", "$2"))"
        return [
            "SELECT transactionId, date FROM revocation WHERE \(condition)",
            "SELECT transactionId, signedDate, text FROM transactionRecord WHERE \(condition)",
        ].map { SQLStatement($0, .integer(app), .texts(rows.map(\.transactionId))) }
    }

    /// Adds the transactions, and reports of those that are not stored with the same content.
    private func add(
        _ refunds: [RefundRow], as texts: [EncodedJWS], to history: inout ReportedHistory, known: [[Row]],
        at now: Timestamp
    ) throws(StorageError) {
        var (revoked, signed): ([String: Timestamp], [String: Timestamp]) = ([:], [:])
        var stored: [String: EncodedJWS] = [:]
        for row in known[0] { revoked[try row.text(0)] = try? row.timestamp(1) }
        for row in known[1] {
            // A record whose date is damaged is replaced.
            signed[try row.text(0)] = (try? row.timestamp(1)) ?? Timestamp(milliseconds: 0)
            stored[try row.text(0)] = try row.encodedText(2)
        }
        for (refund, text) in zip(refunds, texts) {
            let (row, id) = (refund.transaction, refund.transaction.transactionId)
            let isLatest = RecordChange(reported: row.signedDate, stored: signed[id]).isNew
            let cause = StalenessCause.refund(
                isLatest: isLatest, isSubscription: row.isSubscription, isKnownRevocation: revoked[id] == refund.date)
            history.records.append((row, text, cause.needsLookup))
            guard isLatest else { continue }
            (signed[id], revoked[id]) = (row.signedDate, row.revocation?.date)
            let isKnown = stored.updateValue(text, forKey: id).map { !text.differs(from: $0) } ?? false
            guard !isKnown else { continue }
            let event = CustomerEvent(row, as: text, of: row.originalTransactionId, source: history.source)
            history.unknown.append(
                CustomerReport(event, about: row.originalTransactionId, in: history.scope, at: now))
        }
    }
}
