package import Storage
import GRDB
package import AppStoreTypes

extension SQLiteStore: NotificationStore {
    /// Stores a notification, and its records if they are newer than the stored ones, in one transaction.
    /// Notifications are deduplicated by `notificationUUID`: a repeated one changes nothing.
    ///
    /// A record is replaced as a whole by one that was signed later. The replaced record, or one that arrives too
    /// late, is stored as history. A record with the same date changes nothing.
    ///
    /// - Parameter targetKeys: the targets to forward the notification to if it is new.
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> NotificationOutcome {
        let texts = await encoder.encode(notification, update)
        return try await write { [recordsEvents] db in
            let app = try Self.appID(of: scope, in: db)
            guard
                let id = try Self.insert(
                    notification, as: texts, about: update.originalTransactionId, app: app, in: db)
            else { return .repeated }
            try Self.enqueueDeliveries(of: notification, id: id, to: targetKeys, in: db)
            var isNew = false
            if let transaction = update.transaction, let text = texts.transaction {
                isNew = try Self.applyReportedTransaction(
                    transaction, as: text, app: app, since: notification.clock, in: db)
            }
            var (isNewRenewal, isNewStatus) = (false, false)
            if let renewal = update.renewal, let text = texts.renewal {
                isNewRenewal = try Self.save(renewal, as: text, app: app, in: db)
            }
            if let status = update.status {
                isNewStatus = try Self.save(status, place: nil, app: app, in: db)
            }
            if update.needsLookup, let original = update.originalTransactionId {
                try Self.markStale(
                    customersOf: [original], app: app, since: notification.clock, in: db)
            }
            if recordsEvents, let original = update.originalTransactionId {
                let members = NotificationMembers(notification, update, as: texts)
                let event = CustomerEvent(
                    customer: try Self.eventKey(of: update.transaction?.transactionId, original, app: app, in: db),
                    type: .notification,
                    body: EventMembers.body([
                        members.head, isNew ? members.transaction : nil, isNewRenewal ? members.renewal : nil,
                        isNewStatus ? members.status : nil,
                    ]))
                try Self.insert([event], in: scope, db)
            }
            return .stored(isNew: isNew)
        }
    }

    /// Returns those identifiers that occur in a record of the app, each with the environment of the record.
    package func recordedIdentifiers(
        _ identifiers: [TransactionIdentifier], of bundleId: BundleIdentifier
    ) async throws(StorageError) -> [(identifier: TransactionIdentifier, environment: AppStoreEnvironment)] {
        try await read { db in
            var found: [(TransactionIdentifier, AppStoreEnvironment)] = []
            for identifier in identifiers {
                let name = try String.fetchOne(
                    db,
                    sql: """
                        SELECT environment FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                        WHERE (transactionId = ?1 OR originalTransactionId = ?1) AND bundleId = ?2 LIMIT 1
                        """, arguments: [identifier.rawValue, bundleId.rawValue])
                if let environment = name.flatMap(AppStoreEnvironment.init(rawValue:)) {
                    found.append((identifier, environment))
                }
            }
            return found
        }
    }

    /// Returns the number of stored notifications.
    package func notificationCount() async throws(StorageError) -> Int {
        try await read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notification WHERE version > 0") ?? 0 }
    }

    // MARK: - Parts

    /// Inserts a notification. Returns its row id, or `nil` if it was already stored.
    static func insert(
        _ notification: NotificationRow, as texts: EncodedNotification, about original: String?, app: Int64,
        in db: Database
    ) throws -> Int64? {
        try db.cachedStatement(
            sql: """
                INSERT INTO notification
                (uuid, version, type, subtype, app, signedDate, receivedAt, originalTransactionId, text)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uuid) DO NOTHING
                """
        ).execute(arguments: [
            notification.uuid, notification.version, notification.type, notification.subtype, app,
            notification.signedDate?.milliseconds, notification.receivedAt.milliseconds, original, texts.own,
        ])
        return db.changesCount > 0 ? db.lastInsertedRowID : nil
    }

    /// Stores the transaction of a notification or of a refund history. Returns whether it is now the most recently
    /// signed one of its purchase.
    static func applyReportedTransaction(
        _ row: TransactionRow, as text: EncodedJWS, app: Int64, since clock: Timestamp, in db: Database
    ) throws -> Bool {
        let find = try db.cachedStatement(
            sql: "SELECT id, signedDate, customer, text FROM transactionRecord WHERE transactionId = ? AND app = ?")
        let old = try Row.fetchOne(find, arguments: [row.transactionId, app])
        let change = RecordChange(
            reported: row.signedDate, stored: old.map { Timestamp(milliseconds: $0[1]) })
        if let old {
            switch change {
            case .replaceAndKeepStored:
                try insertSuperseded(row, signed: old[1], old[3] as DatabaseValue, app: app, in: db)
                try update(row, as: text, id: old[0], customer: old[2], place: nextPlace(of: old[2], in: db), in: db)
            case .keepAsHistory:
                try insertSuperseded(row, signed: row.signedDate.milliseconds, text.databaseValue, app: app, in: db)
            case .insert, .replace, .ignore: break
            }
        } else {
            let (customer, cause) = try owner(of: row, app: app, in: db)
            try insert(row, as: text, customer: customer, app: app, in: db)
            if let customer, cause?.needsLookup ?? false { try markStale(customer, since: clock, in: db) }
        }
        if change.isNew { try updateRevocation(row, app: app, in: db) }
        return change.isNew
    }

    /// Keeps a version of a transaction as history.
    private static func insertSuperseded(
        _ row: TransactionRow, signed: Int64, _ text: DatabaseValue, app: Int64, in db: Database
    ) throws {
        try db.cachedStatement(sql: "INSERT INTO supersededTransaction VALUES (?, ?, ?, ?)").execute(
            arguments: [app, row.transactionId, signed, text])
    }

    /// Returns the customer of a new purchase: the one that has the subscription, otherwise the one that has the app
    /// transaction id, otherwise the one that has the subscription from which it was migrated. Also returns why that
    /// customer may be stale.
    private static func owner(
        of row: TransactionRow, app: Int64, in db: Database
    ) throws -> (customer: Int64?, cause: StalenessCause?) {
        func customer(_ column: String, _ value: String) throws -> Int64? {
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT customer FROM transactionRecord
                        WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1
                        """), arguments: [value, app])
        }
        if let owner = try customer("originalTransactionId", row.originalTransactionId) { return (owner, nil) }
        if let download = row.appTransactionId, let owner = try customer("appTransactionId", download) {
            return (owner, .ownedByDownload(isSubscription: row.isSubscription))
        }
        if let previous = row.previousOriginalTransactionId,
            let owner = try customer("originalTransactionId", previous)
        {
            return (owner, .ownedByMigration)
        }
        return (nil, nil)
    }
}
