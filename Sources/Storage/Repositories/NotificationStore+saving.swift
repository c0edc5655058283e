import ReceiptBridgeBase

extension NotificationStore {
    /// Stores a notification, and its records if they are newer than the stored ones, in one transaction.
    /// Notifications are deduplicated by `notificationUUID`: a repeated one changes nothing.
    ///
    /// A record is replaced as a whole by one that was signed later. The replaced record, or one that arrives too late,
    /// is stored as history. A record with the same date changes nothing. A new notification is forwarded to the
    /// targets.
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> NotificationOutcome {
        let texts = await encoder.encode(notification, update)
        let write = NotificationWrite(
            row: notification, text: texts.own, app: try await appID(of: scope), scope: scope,
            report: RecordReport(notification, update, as: texts, recordsEvents: recordsEvents),
            change: StoredChange(update, in: scope), targetKeys: targetKeys)
        do throws(StorageError) {
            let outcome = try await notificationWrites.run(write) { (writes) throws(StorageError) in
                try await run { NotificationBatch(self, writes, isRepetition: $0).first }
            }
            metrics.writeSucceeded()
            return outcome
        } catch {
            metrics.writeFailed(error)
            throw error
        }
    }
}

/// A notification to be stored.
package struct NotificationWrite: Sendable {
    let row: NotificationRow
    let text: EncodedJWS
    let app: Int64
    let scope: AppScope
    let report: RecordReport
    /// What other servers are told; `nil` if it changes no record.
    let change: StoredChange?
    let targetKeys: [ForwardingTargetKey]
}

/// Notifications that are stored in one transaction, in their order.
private struct NotificationBatch<Engine: SQLEngine>: Sendable {
    typealias Step = SQLStep<Engine.Row, [NotificationOutcome]>

    let engine: Engine
    let writes: [NotificationWrite]
    /// Whether an earlier attempt, whose outcome is unknown, may have stored them.
    let isRepetition: Bool
    /// The positions of the notifications of each app, and their records.
    private let apps: [(positions: [Int], records: RecordWrite<Engine>)]

    private var dialect: SQLDialect { engine.dialect }

    init(_ engine: Engine, _ writes: [NotificationWrite], isRepetition: Bool) {
        (self.engine, self.writes, self.isRepetition) = (engine, writes, isRepetition)
        let positions = Dictionary(grouping: writes.indices) { writes[$0].app }.sorted { $0.key < $1.key }
        apps = positions.map { app, positions in
            let reports = positions.map { writes[$0].report }
            return (positions, RecordWrite(engine, reports, app: app, scope: writes[positions[0]].scope))
        }
    }

    var first: Step {
        let rows = writes.map { write in
            let row = write.row
            return [
                .text(row.uuid), .integer(Int64(row.version)), SQLValue(row.type), SQLValue(row.subtype),
                .integer(write.app), SQLValue(row.signedDate), SQLValue(row.receivedAt),
                SQLValue(write.report.purchase), .jws(write.text),
            ]
        }
        let inserts = dialect.insert(
            rows, into: .notification,
            "uuid, version, type, subtype, app, signedDate, receivedAt, originalTransactionId, text",
            "ON CONFLICT (uuid) DO NOTHING RETURNING uuid")
        return read(after: inserts) { rows throws(StorageError) in
            var uuids: Set<String> = []
            for row in rows.joined() { uuids.insert(try row.text(0)) }
            return Set(writes.indices.filter { uuids.remove(writes[$0].row.uuid) != nil })
        }
    }

    /// Locks, runs statements, and reads what decides about the records. `isNew` returns the positions of the new
    /// notifications from the rows of the statements.
    private func read(
        after statements: [SQLStatement], attempt: Int = 1,
        _ isNew: @escaping @Sendable ([[Engine.Row]]) throws(StorageError) -> Set<Int>
    ) -> Step {
        let slots = engine.locks(
            of: writes.flatMap { write in
                let identifiers = write.report.identifiers
                return (identifiers.isEmpty ? [write.row.uuid] : identifiers).map { ($0, write.app) }
            })
        let customers = engine.customerLocks(
            of: apps.flatMap { app in app.records.purchases.map { ($0, app.records.app) } },
            downloads: apps.flatMap { app in app.records.downloads.map { ($0, app.records.app) } })
        let planning = engine.planning
        let locks = planning + slots + customers
        let reads = apps.map(\.records.reads)
        return .run(locks + statements + reads.joined()) { (rows) throws(StorageError) in
            let new = try isNew(Array(rows[locks.count..<locks.count + statements.count]))
            guard !new.isEmpty else { return .end(outcomes([:])) }
            var rest = rows.dropFirst(locks.count + statements.count)
            var stored: [StoredRecords] = []
            for (app, reads) in zip(apps, reads) {
                stored.append(try app.records.stored(Array(rest.prefix(reads.count))))
                rest = rest.dropFirst(reads.count)
            }
            // A history can have merged a customer into one that was not locked yet.
            if !customers.isEmpty, attempt < 3 {
                let ids = rows[planning.count + slots.count]
                let locked = try ids.map { (row) throws(StorageError) in try row.rowID(0) }
                guard Set(locked).isSuperset(of: stored.flatMap(\.customers.keys)) else {
                    return read(after: [], attempt: attempt + 1) { _ in new }
                }
            }
            return write(new, stored)
        }
    }

    private func write(_ new: Set<Int>, _ stored: [StoredRecords]) -> Step {
        var isLatest: [Int: Bool] = [:]
        var statements: [SQLStatement] = []
        for (app, stored) in zip(apps, stored) {
            var changes = RecordChanges(to: stored)
            let positions = app.positions.filter(new.contains)
            for position in positions { isLatest[position] = changes.add(writes[position].report) }
            statements += app.records.statements(changes)
            if let change = StoredChange(joining: positions.compactMap { writes[$0].change }) {
                statements += engine.announcements(of: change, app: app.records.app)
            }
        }
        return .end(outcomes(isLatest), after: statements + deliveries(of: new.sorted().map { writes[$0] }))
    }

    /// - Parameter isLatest: whether the transaction of a new notification is the most recently signed one of its
    ///   purchase, by the position of the notification.
    private func outcomes(_ isLatest: [Int: Bool]) -> [NotificationOutcome] {
        writes.enumerated().map { position, write in
            if let isNew = isLatest[position] { return .stored(isNew: isNew) }
            return isRepetition ? .stored(isNew: write.report.transaction != nil) : .repeated
        }
    }

    /// The statements that add the deliveries, and the received bodies that are unusual.
    private func deliveries(of writes: [NotificationWrite]) -> [SQLStatement] {
        let queued = writes.flatMap { write in write.targetKeys.map { (uuid: write.row.uuid, target: $0) } }
        guard !queued.isEmpty else { return [] }
        let columns = [("uuid", "$1"), ("bundle", "$2"), ("form", "$3"), ("url", "$4")]
        let (now, (subject, value)) = (dialect.now("receivedAt"), dialect.subject)
        let insert = SQLStatement(
            """
            INSERT INTO delivery (addressee, notification, createdAt, queuedAt, nextAttempt\(subject))
            SELECT target.id, added.id, receivedAt, \(now), \(now)\(value)
            FROM \(dialect.rows(columns, as: "queued"))
            \(dialect.lookUp("notification", where: "uuid = queued.uuid", as: "added"))
            \(dialect.lookUp(
                "addressee", where: "bundleId = queued.bundle AND form = queued.form AND url = queued.url", as: "target"))
            ORDER BY added.id
            """, .texts(queued.map(\.uuid)), .texts(queued.map(\.target.bundleId.rawValue)),
            .texts(queued.map(\.target.form)), .texts(queued.map(\.target.url)))
        let bodies = writes.filter { !$0.targetKeys.isEmpty }.compactMap { write in
            write.row.rawBody.map { body in
                SQLStatement(
                    "INSERT INTO unusualBody (notification, body) SELECT id, $2 FROM notification WHERE uuid = $1",
                    .text(write.row.uuid), .bytes(body))
            }
        }
        return dialect.insert(
            Set(queued.map(\.target)).map(\.values), into: .addressee, "bundleId, form, url", "ON CONFLICT DO NOTHING")
            + [insert] + bodies
    }
}
