import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

/// The engines that the conformance tests run on. The tests know only the protocols of `Storage`.
enum StoreTestEngine: String, Sendable, CaseIterable {
    case sqlite
    /// A schema of its own in the database of `RECEIPT_BRIDGE_TEST_POSTGRESQL`.
    case postgresql

    /// The engines that this machine can run.
    static var available: [StoreTestEngine] { allCases.filter { $0 != .postgresql || TestSchema.database != nil } }

    var dialect: SQLDialect { self == .sqlite ? .sqlite : .postgreSQL }
}

/// The engines that this machine can run.
let engines = StoreTestEngine.available

/// A new store of one engine.
struct StoreStage {
    let store: any Store
    let scope: AppScope
    private let place: Place
    private let hintsPerDay: Int

    /// Where the data of the store is. It is deleted with the stage.
    private enum Place {
        case folder(TemporaryFolder)
        case schema(TestSchema)
    }

    /// - Parameter hintsPerDay: maximum number of version 1 notifications per day, app and environment.
    init(_ engine: StoreTestEngine, hintsPerDay: Int = 10_000) async throws {
        self.hintsPerDay = hintsPerDay
        place =
            switch engine {
            case .sqlite: .folder(try TemporaryFolder())
            case .postgresql: .schema(try await TestSchema())
            }
        store = try await Self.open(place, hintsPerDay: hintsPerDay)
        scope = try AppScope.of()
    }

    /// Closes the store and opens it again, as after a restart.
    func reopened(recordsEvents: Bool = true) async throws -> any Store {
        await store.close()
        return try await Self.open(place, hintsPerDay: hintsPerDay, recordsEvents: recordsEvents)
    }

    /// Opens the same data a second time, as another process does.
    func second() async throws -> any Store { try await Self.open(place, hintsPerDay: hintsPerDay) }

    /// A new store with a copy of the customers' transactions. A copied store lacks what is not copied but derived from
    /// signed texts, like one of an earlier version.
    func copied(on engine: StoreTestEngine) async throws -> StoreStage {
        let copy = try await StoreStage(engine)
        let source = try #require(store as? any StoreTransfer)
        let destination = try #require(copy.store as? any StoreTransfer)
        _ = try await destination.beginCopy(from: "test")
        for name in ["app", "signedHeader", "customer", "transactionRecord"] {
            let table = try #require(StoreTable.copied.first { $0.name == name })
            try await destination.insert(
                try await source.rows(table.copy, after: nil, limit: 9, decodesJWS: false), into: table)
        }
        try await destination.finishCopy()
        return copy
    }

    // MARK: - What happens to customers

    func save(_ customer: CustomerRow) async throws {
        try await store.customers.save(customer, of: scope)
    }

    @discardableResult
    func receive(
        _ notification: NotificationRow, _ update: NotificationUpdate = NotificationUpdate(),
        for targets: [ForwardingTargetKey] = []
    ) async throws -> NotificationOutcome {
        try await store.notifications.save(notification, update, of: scope, for: targets)
    }

    /// The customer with these original transaction ids and other ids.
    func find(_ originals: [String], _ others: [String] = []) async throws -> StoredCustomer? {
        try await store.customers.customer(of: CustomerIdentifiers(originals, others), in: scope)
    }

    // MARK: - What is in the database

    /// Returns the number of rows of each table of the database, whose name is in lower case.
    func counts() async throws -> [String: Int64] {
        switch store {
        case let store as SQLiteStore:
            try await counts(store, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        case let store as PostgreSQLStore:
            try await counts(store, "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
        default: [:]
        }
    }

    private func counts(_ engine: some SQLEngine, _ names: String) async throws -> [String: Int64] {
        let tables = try await engine.read(SQLStatement(names)) { (row) throws(StorageError) in try row.text(0) }
        var counts: [String: Int64] = [:]
        for table in tables {
            counts[table.lowercased()] = try await engine.read(SQLStatement("SELECT count(*) FROM \(table)")) {
                (row) throws(StorageError) in try row.integer(0)
            }.first
        }
        return counts
    }

    /// Returns the number of deadlocks in the database, which an engine ends by repeating a transaction. Complete once
    /// the stores are closed.
    func deadlocks() async throws -> Int64 {
        switch place {
        case .folder: 0
        case .schema(let schema): try await schema.deadlocks()
        }
    }

    /// Opens the store, or creates one.
    private static func open(
        _ place: Place, hintsPerDay: Int, recordsEvents: Bool = true
    ) async throws(StorageError) -> any Store {
        switch place {
        case .folder(let folder):
            try SQLiteStore(path: folder.path("bridge.sqlite"), hintsPerDay: hintsPerDay, recordsEvents: recordsEvents)
        case .schema(let schema):
            try await PostgreSQLStore(
                schema.configuration, place: schema.name, hintsPerDay: hintsPerDay, recordsEvents: recordsEvents)
        }
    }
}

extension NotificationStore {
    /// Returns the number of stored notifications.
    func notificationCount() async throws(StorageError) -> Int {
        try await notifications(matching: NotificationFilter(), after: 0, limit: 100_000).count
    }
}

extension DeliveryOutbox {
    /// Leases due deliveries, also those of all leases that have ended.
    ///
    /// - Parameter now: the time of the server, of which the store's clock is independent if there can be others.
    func claim(
        to targetKey: ForwardingTargetKey, by lessee: String, at now: Timestamp = .now, limit: Int = 9
    ) async throws(StorageError) -> [StoredDelivery] {
        let end = try await due(to: targetKey, at: now).time
        let lease = DeliveryLease(lessee: lessee, lasting: .minutes(1))
        return try await claim(to: targetKey, for: lease, at: now, takingOverUntil: end, limit: limit).deliveries
    }

    /// Moves the ends of leases and the due times into the past, as if a time had passed by the store's clock.
    func pass(_ duration: Duration) async throws(StorageError) {
        try await write([
            SQLStatement(
                "UPDATE delivery SET leasedUntil = leasedUntil - $1, nextAttempt = nextAttempt - $1",
                .integer(duration.inMilliseconds))
        ])
    }
}
