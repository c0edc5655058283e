import GRDB
package import StoreTypes

/// What a notification tells of one customer.
package struct NotificationUpdate: Sendable {
    package var transaction: TransactionRow?
    package var renewal: RenewalRow?
    package var status: StatusRow?
    /// Something happened that the records in the notification do not tell completely.
    package var needsLookup = false

    package init(
        transaction: TransactionRow? = nil, renewal: RenewalRow? = nil, status: StatusRow? = nil,
        needsLookup: Bool = false
    ) {
        self.transaction = transaction
        self.renewal = renewal
        self.status = status
        self.needsLookup = needsLookup
    }
}

/// What became of a notification.
package enum NotificationOutcome: Sendable, Hashable {
    /// On disk. `isNew`: its transaction is the newest word on that purchase.
    case stored(isNew: Bool)
    /// It was there already; nothing was changed.
    case repeated
}

extension Store {
    /// Keeps a notification, and what it tells where that is newer than what is known: all of it or nothing.
    ///
    /// A record is replaced as a whole by one that was signed later; what was replaced, and what came too late, is kept
    /// as history. The same date again changes nothing.
    ///
    /// - Parameter targetKeys: whom it is to be forwarded to, where it is new.
    package func save(
        _ notification: NotificationRow, _ news: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> NotificationOutcome {
        let texts = await stored(notification, news)
        return try await write { db in
            let app = try Self.number(of: scope, in: db)
            guard
                let number = try Self.insert(
                    notification, as: texts, about: news.originalTransactionId, app: app, in: db)
            else { return .repeated }
            try Self.address(notification, number: number, to: targetKeys, in: db)
            var isNew = false
            if let transaction = news.transaction, let text = texts.transaction {
                isNew = try Self.applyReportedTransaction(
                    transaction, as: text, app: app, since: notification.clock, in: db)
            }
            if let renewal = news.renewal, let text = texts.renewal {
                try Self.save(renewal, as: text, app: app, in: db)
            }
            if let status = news.status { try Self.save(status, place: nil, app: app, in: db) }
            if news.needsLookup, let original = news.originalTransactionId {
                try Self.markStale(
                    customersOf: [original], app: app, since: notification.clock, in: db)
            }
            return .stored(isNew: isNew)
        }
    }

    /// Those of the identifiers that some record of the app is about, and where.
    package func known(
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

    /// How many there are.
    package func notificationCount() async throws(StorageError) -> Int {
        try await read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notification") ?? 0 }
    }

    // MARK: - Parts

    /// Its number; nil where it was there already.
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

    /// Whether it is the newest word on its purchase.
    static func applyReportedTransaction(
        _ row: TransactionRow, as text: EncodedJWS, app: Int64, since clock: Timestamp, in db: Database
    ) throws -> Bool {
        let find = try db.cachedStatement(
            sql: "SELECT id, signedDate, customer, text FROM transactionRecord WHERE transactionId = ? AND app = ?")
        guard let old = try Row.fetchOne(find, arguments: [row.transactionId, app]) else {
            let (customer, isNewSubscription) = try owner(of: row, app: app, in: db)
            try insert(row, as: text, customer: customer, app: app, in: db)
            // Where it stands among the customer's other subscriptions, only a look-up tells.
            if let customer, isNewSubscription { try markStale(customer, since: clock, in: db) }
            try note(row, app: app, in: db)
            return true
        }
        let oldDate: Int64 = old[1]
        guard row.signedDate.milliseconds != oldDate else { return false }
        let isNewer = row.signedDate.milliseconds > oldDate
        try db.cachedStatement(sql: "INSERT INTO supersededTransaction VALUES (?, ?, ?, ?)").execute(
            arguments: [
                app, row.transactionId, isNewer ? oldDate : row.signedDate.milliseconds,
                isNewer ? old[3] as DatabaseValue : text.databaseValue,
            ])
        guard isNewer else { return false }
        try update(row, as: text, id: old[0], customer: old[2], place: nextPlace(of: old[2], in: db), in: db)
        try note(row, app: app, in: db)
        return true
    }

    /// Whose a purchase is that was not known: whose the subscription is, else whose the download of the app is.
    private static func owner(
        of row: TransactionRow, app: Int64, in db: Database
    ) throws -> (customer: Int64?, isNewSubscription: Bool) {
        func customer(_ column: String, _ value: String) throws -> Int64? {
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT customer FROM transactionRecord
                        WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1
                        """), arguments: [value, app])
        }
        if let known = try customer("originalTransactionId", row.originalTransactionId) { return (known, false) }
        guard let download = row.appTransactionId, let known = try customer("appTransactionId", download) else {
            return (nil, false)
        }
        return (known, row.isSubscription)
    }
}

extension NotificationUpdate {
    /// Which purchase it is about.
    package var originalTransactionId: String? {
        transaction?.originalTransactionId ?? renewal?.originalTransactionId ?? status?.originalTransactionId
    }
}

extension NotificationRow {
    /// By the App Store's clock where it says so.
    fileprivate var clock: Timestamp { signedDate ?? receivedAt }
}
