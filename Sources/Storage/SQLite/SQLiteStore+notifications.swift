import Base
import GRDB

extension SQLiteStore: NotificationStore {
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> NotificationOutcome {
        let texts = await encoder.encode(notification, update)
        let members = recordsEvents ? NotificationMembers(notification, update, as: texts) : nil
        return try await writeTransaction { transaction in
            let app = try transaction.appID(of: scope)
            guard
                let id = try transaction.insert(
                    notification, as: texts, about: update.originalTransactionId, app: app)
            else { return .repeated }
            try transaction.enqueueDeliveries(of: notification, id: id, to: targetKeys)
            var (isNew, owner) = (false, WriteTransaction.RecordOwner.notLookedUp)
            if let row = update.transaction, let text = texts.transaction {
                (isNew, owner) = try transaction.applyReportedTransaction(
                    row, as: text, app: app, since: notification.clock)
            }
            let (isNewRenewal, isNewStatus) = try transaction.save(update, as: texts, app: app)
            guard let original = update.originalTransactionId else { return .stored(isNew: isNew) }
            if update.needsLookup {
                try transaction.markStale(customerOf: original, app: app, since: notification.clock)
            }
            if let members {
                let event = CustomerEvent(
                    customer: try transaction.eventKey(of: owner, original, app: app),
                    type: .notification,
                    body: EventMembers.body([
                        members.head, isNew ? members.transaction : nil, isNewRenewal ? members.renewal : nil,
                        isNewStatus ? members.status : nil,
                    ]))
                try transaction.statement(
                    "INSERT INTO events (time, app, environment, customer, type, body) VALUES (?, ?, ?, ?, ?, ?)"
                ).run([
                    SQLValue(Timestamp.now), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                    .text(event.customer), .text(event.type.rawValue), .text(event.body),
                ])
            }
            return .stored(isNew: isNew)
        }
    }
}

/// The parts of storing a notification.
extension WriteTransaction {
    /// Inserts a notification. Returns its row id, or `nil` if it was already stored.
    func insert(
        _ notification: NotificationRow, as texts: EncodedNotification, about original: String?, app: Int64
    ) throws -> Int64? {
        let changes = try statement(
            """
            INSERT INTO notification
            (uuid, version, type, subtype, app, signedDate, receivedAt, originalTransactionId, text)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uuid) DO NOTHING
            """
        ).run([
            .text(notification.uuid), .integer(Int64(notification.version)), SQLValue(notification.type),
            SQLValue(notification.subtype), .integer(app), SQLValue(notification.signedDate),
            SQLValue(notification.receivedAt), SQLValue(original), .jws(texts.own),
        ])
        return changes > 0 ? db.lastInsertedRowID : nil
    }

    /// The customer of a transaction record.
    enum RecordOwner {
        case customer(Int64)
        /// No record of the purchase has a customer.
        case none
        /// Another record of the purchase may have a customer.
        case notLookedUp
    }

    /// Stores the transaction of a notification or of a refund history. Returns whether it is now the most recently
    /// signed one of its purchase, and its customer.
    func applyReportedTransaction(
        _ row: TransactionRow, as text: EncodedJWS, app: Int64, since clock: Timestamp
    ) throws -> (isNew: Bool, owner: RecordOwner) {
        let old = try statement(
            "SELECT id, signedDate, customer FROM transactionRecord WHERE transactionId = ? AND app = ?"
        ).firstRow([.text(row.transactionId), .integer(app)]) {
            (id: $0.integer(0) ?? 0, signedDate: $0.integer(1) ?? 0, customer: $0.integer(2))
        }
        let change = RecordChange(
            reported: row.signedDate, stored: old.map { Timestamp(milliseconds: $0.signedDate) })
        let owner: RecordOwner
        if let old {
            switch change {
            case .replaceAndKeepStored:
                try supersede(old.id)
                let place = try nextPlace(of: old.customer)
                try save(row, as: text, customer: old.customer, place: place, app: app)
            case .keepAsHistory: try insertSuperseded(row, as: text, app: app)
            case .insert, .replace, .ignore: break
            }
            owner = old.customer.map { .customer($0) } ?? .notLookedUp
        } else {
            let (customer, cause) = try self.owner(of: row, app: app)
            let place = try nextPlace(of: customer)
            try save(row, as: text, customer: customer, place: place, app: app)
            if let customer, cause?.needsLookup ?? false { try markStale(customer, since: clock) }
            owner = customer.map { .customer($0) } ?? .none
        }
        if change.isNew { try updateRevocation(row, app: app) }
        return (change.isNew, owner)
    }

    /// Keeps the stored version of a transaction as history.
    private func supersede(_ id: Int64) throws {
        try statement(
            """
            INSERT INTO supersededTransaction (app, transactionId, signedDate, text)
            SELECT app, transactionId, signedDate, text FROM transactionRecord WHERE id = ?
            """
        ).run([.integer(id)])
    }

    /// Keeps a version of a transaction as history that is not the most recently signed one.
    private func insertSuperseded(_ row: TransactionRow, as text: EncodedJWS, app: Int64) throws {
        try statement(
            "INSERT INTO supersededTransaction (app, transactionId, signedDate, text) VALUES (?, ?, ?, ?)"
        ).run([.integer(app), .text(row.transactionId), SQLValue(row.signedDate), .jws(text)])
    }

    /// Returns the customer of a new purchase: the one that has the subscription, otherwise the one that has the app
    /// transaction id, otherwise the one that has the subscription from which it was migrated. Also returns why that
    /// customer may be stale.
    private func owner(of row: TransactionRow, app: Int64) throws -> (customer: Int64?, cause: StalenessCause?) {
        if let owner = try customer(Self.customerOfPurchase, row.originalTransactionId, app: app) {
            return (owner, nil)
        }
        if let download = row.appTransactionId,
            let owner = try customer(Self.customerOfDownload, download, app: app)
        {
            return (owner, .ownedByDownload(isSubscription: row.isSubscription))
        }
        if let previous = row.previousOriginalTransactionId,
            let owner = try customer(Self.customerOfPurchase, previous, app: app)
        {
            return (owner, .ownedByMigration)
        }
        return (nil, nil)
    }

    private static let customerOfPurchase: StaticString = """
        SELECT customer FROM transactionRecord
        WHERE originalTransactionId = ? AND app = ? AND customer IS NOT NULL LIMIT 1
        """

    private static let customerOfDownload: StaticString = """
        SELECT customer FROM transactionRecord
        WHERE appTransactionId = ? AND app = ? AND customer IS NOT NULL LIMIT 1
        """

    /// Returns the customer that a statement finds for an identifier.
    private func customer(_ sql: StaticString, _ identifier: String, app: Int64) throws -> Int64? {
        try statement(sql).firstRow([.text(identifier), .integer(app)]) { $0.integer(0) } ?? nil
    }

    /// Returns the key of the events of a purchase's customer. Purchases without a customer have their own id as the
    /// key.
    func eventKey(of owner: RecordOwner, _ original: String, app: Int64) throws -> String {
        let customer: Int64? =
            switch owner {
            case .customer(let id): id
            case .none: nil
            case .notLookedUp: try self.customer(Self.customerOfPurchase, original, app: app)
            }
        guard let customer else { return original }
        let rows = try db.rows("SELECT \(SQLDialect.sqlite.eventKey) FROM customer WHERE id = ?", [customer])
        return try SQLiteStore.intact(rows) { try $0.optionalText(0) }.first ?? original
    }
}
