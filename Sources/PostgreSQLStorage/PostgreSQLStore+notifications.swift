import Base
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
            // A lookup of the customer that is being stored locks it too, see `HistoryWrite`.
            if let download = transaction.appTransactionId { identifiers.append(download) }
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

    /// Returns the row id of a forwarding target. Inserts a missing row.
    func targetID(of targetKey: ForwardingTargetKey) async throws(StorageError) -> Int64 {
        if let id = targetIDs[targetKey] { return id }
        let id = try await write([
            SQLStatement(
                "INSERT INTO addressee (bundleId, form, url) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                targetKey.values),
            SQLStatement("SELECT id FROM addressee WHERE bundleId = $1 AND form = $2 AND url = $3", targetKey.values),
        ]) { (row) throws(StorageError) in try row.integer(0) }.first
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
