package import Base

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
        let reports = zip(refunds, texts).map {
            RecordReport($0, as: $1, source: source, recordsEvents: recordsEvents)
        }
        let write = RecordWrite(self, reports, app: app, scope: target.scope)
        let locks =
            locks(of: reports.flatMap(\.identifiers), app: app)
            + customerLocks(of: write.purchases, downloads: write.downloads, app: app)
        let inserts = dialect.insert(
            zip(refunds, texts).map { refund, text in
                [.integer(app), .text(refund.transaction.transactionId), SQLValue(refund.date), .jws(text)]
            }, into: .refund, "app, transactionId, date, text", "ON CONFLICT (transactionId, app, date) DO NOTHING")
        let others =
            inserts + [sweep] + announcements(of: StoredChange(refunds, in: target.scope), app: app)
        let known = SQLStatement(
            "SELECT transactionId, text FROM transactionRecord WHERE app = $1 AND \(dialect.isAny("transactionId", "$2"))",
            .integer(app), .texts(refunds.map(\.transaction.transactionId)))
        return try await transaction(
            SQLStep<Row, Int>.run(locks + [known] + write.reads) { (rows) throws(StorageError) in
                var changes = RecordChanges(to: try write.stored(Array(rows.dropFirst(locks.count + 1))))
                var texts: [String: EncodedJWS] = [:]
                for row in rows[locks.count] { texts[try row.text(0)] = try row.encodedText(1) }
                let unknown = reports.filter { changes.add($0) && Self.isUnknown($0, in: &texts) }
                let events = unknown.compactMap { report -> CustomerReport? in
                    guard let (row, text) = report.transaction else { return nil }
                    let original = row.originalTransactionId
                    let event = CustomerEvent(row, as: text, of: original, source: source)
                    return CustomerReport(event, about: original, in: target.scope, at: now)
                }
                return .end(
                    unknown.count,
                    after: write.statements(changes)
                        + CustomerReport.statements(events, to: targetKeys, app: app, dialect) + others)
            })
    }

    /// Returns whether the transaction of a report is not stored with the same content.
    ///
    /// - Parameter texts: the most recent versions by transaction id. The transaction becomes one of them.
    private static func isUnknown(_ report: RecordReport, in texts: inout [String: EncodedJWS]) -> Bool {
        guard let (row, text) = report.transaction else { return false }
        return texts.updateValue(text, forKey: row.transactionId).map { text.differs(from: $0) } ?? true
    }
}
