package import ReceiptBridgeBase

extension RefundStore {
    /// Stores the refunds of a history. From then on every response takes them into account. A subscription with a new
    /// refund is marked for a lookup, because the refund does not include the subscription's status. A refund gives an
    /// event if there was none of it, also if it is known from a notification or a lookup.
    ///
    /// The source becomes part of the events. Refunds that were not known are forwarded to the targets, see
    /// ``CustomerReport``.
    ///
    /// - Parameter known: an identifier of the customer whose history it is. If the app has no record with it, because
    ///   the customer was erased in the meantime, nothing is stored.
    /// - Returns: the number of refunds that were not known; `nil` if nothing was stored.
    @discardableResult
    package func save(
        _ refunds: [RefundRow], in scope: AppScope, at now: Timestamp, source: EventSource = .refundSweep,
        ifRecorded known: TransactionIdentifier? = nil, reportingTo targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> Int? {
        guard !refunds.isEmpty else { return 0 }
        let texts = await encoder.encode(refunds.map(\.transaction.text))
        let app = try await appID(of: scope)
        let reports = zip(refunds, texts).map {
            RecordReport($0, as: $1, source: source, recordsEvents: recordsEvents)
        }
        let write = RecordWrite(self, reports, app: app, scope: scope)
        let locks =
            locks(of: reports.flatMap(\.identifiers) + [known?.rawValue].compactMap(\.self), app: app)
            + customerLocks(of: write.purchases, downloads: write.downloads, app: app)
        let records = records(with: known, app: app)
        let stored = SQLStatement(
            "SELECT transactionId, text FROM transactionRecord WHERE app = $1 AND \(dialect.isAny("transactionId", "$2"))",
            .integer(app), .texts(refunds.map(\.transaction.transactionId)))
        return try await transaction(
            SQLStep<Row, Int?>.run(locks + records + [stored] + write.reads) { (rows) throws(StorageError) in
                guard records.isEmpty || !rows[locks.count].isEmpty else { return .end(nil) }
                let rows = rows.dropFirst(locks.count + records.count)
                var changes = RecordChanges(to: try write.stored(Array(rows.dropFirst())))
                var texts: [String: EncodedJWS] = [:]
                for row in rows.first ?? [] { texts[try row.text(0)] = try row.encodedText(1) }
                var unknown: [RecordReport] = []
                for report in reports {
                    // A history signs every refund again.
                    let isUnknown = Self.isUnknown(report, in: &texts)
                    guard isUnknown || !changes.isReported(report) else { continue }
                    if changes.add(report), isUnknown { unknown.append(report) }
                }
                let events = unknown.compactMap { report -> CustomerReport? in
                    guard let (row, text) = report.transaction else { return nil }
                    let original = row.originalTransactionId
                    let event = CustomerEvent(row, as: text, of: original, source: source)
                    return CustomerReport(event, about: original, in: scope, at: now)
                }
                let announced = unknown.isEmpty ? [] : announcements(of: StoredChange(refunds, in: scope), app: app)
                return .end(
                    unknown.count,
                    after: write.statements(changes)
                        + CustomerReport.statements(events, to: targetKeys, app: app, dialect) + announced)
            })
    }

    /// Returns whether the transaction of a report is not stored with the same content. The texts are the most recent
    /// versions by transaction id. The transaction becomes one of them.
    private static func isUnknown(_ report: RecordReport, in texts: inout [String: EncodedJWS]) -> Bool {
        guard let (row, text) = report.transaction else { return false }
        return texts.updateValue(text, forKey: row.transactionId).map { text.differs(from: $0) } ?? true
    }
}
