package import Base
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: NotificationStore {
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> NotificationOutcome {
        let texts = await encoder.encode(notification, update)
        let app = try await appID(of: scope)
        var targets: [Int64] = []
        for targetKey in targetKeys { targets.append(try await targetID(of: targetKey)) }
        let original = update.originalTransactionId
        var identifiers = [original ?? notification.uuid]
        var customers = CustomerLocks()
        if update.needsLookup { customers.add(original, app: app) }
        if let transaction = update.transaction {
            identifiers += [transaction.transactionId, transaction.originalTransactionId]
            customers.add(transaction.originalTransactionId, app: app)
            customers.add(transaction.previousOriginalTransactionId, app: app)
            customers.add(download: transaction.appTransactionId, app: app)
        }
        for case let other? in [update.renewal?.originalTransactionId, update.status?.originalTransactionId] {
            identifiers.append(other)
        }
        let outcome = try await saveInBatch(
            WriteBatches.Write(
                slots: identifiers.map { LockSlot($0, app: app) }, customers: customers,
                record: RecordRow(
                    notification, update, as: texts, app: app, targets: targets, in: scope,
                    recordsEvents: recordsEvents),
                queries: SubscriptionColumns.save(SubscriptionColumns.other(update), app: app, dialect)
                    .map(PostgreSQLQuery.init)))
        if let isNew = outcome.isNew { return .stored(isNew: isNew) }
        // The attempt whose outcome is unknown may have stored it.
        return outcome.isRepetition ? .stored(isNew: update.transaction != nil) : .repeated
    }

    package func holdsNotification(_ uuid: String) async throws(StorageError) -> Bool {
        try await !read("SELECT 1::bigint FROM notification WHERE uuid = $1", [.text(uuid)]).isEmpty
    }

    package func notifications(
        _ type: String, about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(text: String, receivedAt: Timestamp)] {
        let rows = try await read(
            """
            SELECT text, receivedAt FROM notification JOIN app ON app.id = notification.app
            WHERE type = $1 AND originalTransactionId = $2 AND bundleId = $3 AND environment = $4 AND version = 2
            ORDER BY coalesce(signedDate, receivedAt) DESC, notification.id
            """,
            [
                .text(type), .text(originalTransactionId), .text(scope.bundleId.rawValue),
                .text(scope.environment.rawValue),
            ])
        let found = try value { () throws(PostgreSQLError) in
            try rows.map { row throws(PostgreSQLError) in (try row.jws(0), try row.timestamp(1)) }
        }
        return Array(zip(try await texts(found.map(\.0)), found.map(\.1)))
    }

    package func previousNotifications(
        of id: Int64, type: String?, limit: Int
    ) async throws(StorageError) -> [PreviousNotification] {
        let rows = try await read(
            """
            SELECT old.type, old.signedDate, old.text FROM notification AS new
            JOIN notification AS old ON old.originalTransactionId = new.originalTransactionId
            AND old.app = new.app AND old.id < new.id AND old.version = 2
            WHERE new.id = $1 AND ($2::text IS NULL OR old.type = $2::text)
            ORDER BY coalesce(old.signedDate, old.receivedAt) DESC, old.id DESC LIMIT $3
            """, [.integer(id), PostgreSQLValue(type), .integer(Int64(limit))])
        let found = try value { () throws(PostgreSQLError) in
            try rows.map { row throws(PostgreSQLError) in
                (try row.optionalText(0), try row.optionalTimestamp(1), try row.jws(2))
            }
        }
        return zip(found, try await texts(found.map(\.2))).map {
            PreviousNotification(type: $0.0, signedDate: $0.1, text: $1)
        }
    }

    package func notificationCount() async throws(StorageError) -> Int {
        let rows = try await read("SELECT count(*) FROM notification WHERE version > 0")
        return try value { () throws(PostgreSQLError) in Int(try rows.first?.integer(0) ?? 0) }
    }

    /// Returns the row id of a forwarding target. Inserts a missing row.
    func targetID(of targetKey: ForwardingTargetKey) async throws(StorageError) -> Int64 {
        if let id = targetIDs[targetKey] { return id }
        let arguments: [PostgreSQLValue] = [
            .text(targetKey.bundleId.rawValue), .text(targetKey.form), .text(targetKey.url),
        ]
        let results = try await write([
            PostgreSQLQuery(
                """
                INSERT INTO addressee (bundleId, form, url) VALUES ($1, $2, $3)
                ON CONFLICT (bundleId, form, url) DO NOTHING
                """, arguments),
            PostgreSQLQuery("SELECT id FROM addressee WHERE bundleId = $1 AND form = $2 AND url = $3", arguments),
        ])
        let id = try value { () throws(PostgreSQLError) in try results[1].rows.first?.integer(0) }
        guard let id else { throw StorageError(.failed, at: place, "the row of a target cannot be read") }
        targetIDs.insert(id, for: targetKey)
        return id
    }

    /// Commits a write together with those of other tasks.
    private func saveInBatch(_ write: WriteBatches.Write) async throws(StorageError) -> WriteBatches.Outcome {
        do throws(StorageError) {
            try requireReady()
            let outcome = try await batches.run(write)
            metrics.writeSucceeded()
            note(nil)
            return outcome
        } catch {
            metrics.writeFailed(error)
            note(error)
            throw error
        }
    }
}
