package import Storage
import Foundation
import GRDB
import SQLiteFiles
package import AppStoreTypes

extension SQLiteStore: PersonalDataStore {
    /// Creates the table of erasures. Other processes with the same file read it to find out that data in their
    /// memory may belong to an erased customer.
    static func addErasure(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE erasure (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, erasedAt INTEGER NOT NULL, rows INTEGER NOT NULL)
                """)
    }

    package func erase(_ request: ErasureRequest, at now: Timestamp) async throws(StorageError) -> Erasure {
        let found = try await locate(request)
        return try await write { db in
            var erasure = Erasure()
            for locator in found {
                let keys = try locator.eventKeys(in: db)
                try Self.erase(
                    locator, keepsRevocations: request.keepsRevocations, isDryRun: false, in: db, counting: &erasure)
                let digests = keys.map { CustomerEvent.erasure(of: Self.digest(ofKey: $0)) }
                try Self.insert(digests, in: locator.scope, WriteTransaction(db))
                if let marks = request.marks {
                    try Self.leave(marks, of: locator.identifiers, in: locator.scope, at: now, db)
                }
            }
            if let marks = request.marks, let (id, scopes) = marks.unconditional(for: request) {
                for scope in scopes { try Self.leave(marks, of: [id], in: scope, at: now, db) }
            }
            let rows = erasure.kinds.reduce(0) { $0 + $1.count }
            if !erasure.isEmpty {
                try db.execute(
                    sql: "INSERT INTO erasure (erasedAt, rows) VALUES (?, ?)", arguments: [now.milliseconds, rows])
            }
            return erasure
        }
    }

    package func footprint(of request: ErasureRequest) async throws(StorageError) -> Erasure {
        let found = try await locate(request)
        return try await read { db in
            var erasure = Erasure()
            for locator in found {
                try Self.erase(
                    locator, keepsRevocations: request.keepsRevocations, isDryRun: true, in: db, counting: &erasure)
            }
            return erasure
        }
    }

    /// Returns the id of the last erasure, which changes with every erasure; `nil` if there was none.
    package func lastErasure() async throws(StorageError) -> Int64? {
        try await read { try $0.integer("SELECT max(id) FROM erasure") }
    }

    // MARK: - Parts

    /// Finds the rows of the customer in each app.
    private func locate(_ request: ErasureRequest) async throws(StorageError) -> [CustomerDataLocator] {
        try await read { db in
            try Self.apps(request.bundleId, request.environment, in: db).compactMap { app, scope in
                let identifiers = try Self.identifiers(of: request.subject, app: app, in: db)
                guard !identifiers.isEmpty else { return nil }
                var locator = CustomerDataLocator(app: app, scope: scope, identifiers: identifiers)
                try locator.follow(in: db)
                return locator
            }
        }
    }

    /// Returns the apps that match the bundle id and the environment; all if both are `nil`.
    private static func apps(
        _ bundleId: BundleIdentifier?, _ environment: AppStoreEnvironment?, in db: Database
    ) throws -> [(app: Int64, scope: AppScope)] {
        try db.rows("SELECT id, bundleId, environment FROM app ORDER BY id").compactMap { row in
            guard let scope = try row.scope(1, 2), bundleId ?? scope.bundleId == scope.bundleId,
                environment ?? scope.environment == scope.environment
            else { return nil }
            return (try row.integer(0), scope)
        }
    }

    /// Returns the identifiers that the search begins with.
    private static func identifiers(of subject: ErasureSubject, app: Int64, in db: Database) throws -> Set<String> {
        guard case .accountToken(let token) = subject else {
            guard case .transaction(let id) = subject else { return [] }
            return [id.rawValue]
        }
        // Account tokens occur only inside JWS, in the current ones or in replaced ones.
        let tokenText = token.uuidString.lowercased()
        var found: Set<String> = []
        try db.forEachRow(
            """
            SELECT transactionId, text FROM transactionRecord WHERE app = ?1
            UNION ALL SELECT transactionId, text FROM supersededTransaction WHERE app = ?1
            UNION ALL SELECT transactionId, text FROM refund WHERE app = ?1
            UNION ALL SELECT originalTransactionId, renewal FROM subscription WHERE app = ?1 AND renewal IS NOT NULL
            UNION ALL SELECT originalTransactionId, text FROM notification
            WHERE app = ?1 AND originalTransactionId IS NOT NULL
            """, [app]
        ) { row in
            if PersonalIdentifierScanner.all(in: row.value(1)).contains(tokenText) { found.insert(try row.text(0)) }
        }
        try db.forEachRow(
            """
            SELECT originals, body FROM lastGood WHERE app = ?1
            UNION ALL SELECT identifiers, transactions FROM orderLookup WHERE app = ?1
            """, [app]
        ) { row in
            guard PersonalIdentifierScanner.all(in: row.value(1)).contains(tokenText) else { return }
            found.formUnion(try row.text(0).split(separator: " ").map(String.init))
        }
        return found
    }

    /// Erases or counts the rows of one customer, table by table, and adds their numbers to `erasure`.
    private static func erase(
        _ locator: CustomerDataLocator, keepsRevocations: Bool, isDryRun: Bool, in db: Database,
        counting erasure: inout Erasure
    ) throws {
        let (arguments, before) = (locator.arguments, erasure)
        for rule in ErasureRule.erased {
            let count = Int(
                try db.integer("SELECT count(*) FROM \(rule.table) WHERE \(rule.condition)", arguments) ?? 0)
            guard count > 0 else { continue }
            let isReduced = keepsRevocations && rule.data.erasure == .reducedOnRequest
            if isReduced {
                erasure.keptRevocations += count
            } else {
                erasure.add(count, rule.data.rawValue)
            }
            if rule.data == .deliveries {
                erasure.waitingDeliveries += Int(
                    try db.integer(
                        "SELECT count(*) FROM delivery WHERE state = :waiting AND \(rule.condition)",
                        arguments + ["waiting": DeliveryState.waiting.rawValue]) ?? 0)
            }
            guard !isDryRun else { continue }
            let change =
                isReduced
                ? "UPDATE revocation SET webOrderLineItemId = NULL, reason = NULL, signedDate = NULL"
                : "DELETE FROM \(rule.table)"
            try db.execute(sql: "\(change) WHERE \(rule.condition)", arguments: arguments)
        }
        if erasure != before { erasure.scopes.append(locator.scope) }
    }
}
