package import Foundation
import GRDB
package import AppStoreTypes

/// The customer to erase.
package enum ErasureSubject: Sendable, Hashable {
    /// The customer with this transaction id or original transaction id.
    case transaction(TransactionIdentifier)
    /// The customers with a record that has this account token (`appAccountToken`).
    case accountToken(UUID)
}

/// The rows that were erased, or would be erased by a dry run.
package struct Erasure: Sendable, Hashable {
    /// Number of rows of one kind.
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let count: Int

        package init(name: String, count: Int) {
            self.name = name
            self.count = count
        }
    }

    /// Where the customer was found. An account token can lead to several customers.
    package fileprivate(set) var scopes: [AppScope] = []
    /// Only kinds with a count above 0.
    package fileprivate(set) var kinds: [Kind] = []
    /// Number of erased deliveries that were still waiting.
    package fileprivate(set) var waitingDeliveries = 0
    /// Number of refunded purchases whose id and date are kept.
    package fileprivate(set) var keptRevocations = 0

    package var isEmpty: Bool { kinds.isEmpty && keptRevocations == 0 }

    fileprivate mutating func add(_ count: Int, _ name: String) {
        guard count > 0 else { return }
        if let index = kinds.firstIndex(where: { $0.name == name }) {
            kinds[index] = Kind(name: name, count: kinds[index].count + count)
        } else {
            kinds.append(Kind(name: name, count: count))
        }
    }
}

extension Store {
    /// Creates the table of erasures. Other processes with the same file read it to find out that data in their
    /// memory may belong to an erased customer.
    static func addErasure(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE erasure (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, erasedAt INTEGER NOT NULL, rows INTEGER NOT NULL)
                """)
    }

    /// Erases a customer in one transaction. Deleted data is overwritten. Copies of it that SQLite has made elsewhere
    /// in the file remain until ``compact()``.
    ///
    /// - Parameters:
    ///   - bundleId: erases in this app only; `nil` for all apps.
    ///   - environment: erases in this environment only; `nil` for both.
    ///   - keepsRevocations: keeps the ids and dates of refunded purchases.
    ///   - isDryRun: only counts the rows.
    package func erase(
        _ subject: ErasureSubject, bundleId: BundleIdentifier? = nil, environment: AppStoreEnvironment? = nil,
        keepsRevocations: Bool = false, isDryRun: Bool = false, at now: Timestamp
    ) async throws(StorageError) -> Erasure {
        let found = try await read { db in
            try Self.apps(bundleId, environment, in: db).compactMap { app, scope -> CustomerDataLocator? in
                var locator = CustomerDataLocator(
                    app: app, scope: scope, identifiers: try Self.identifiers(of: subject, app: app, in: db))
                guard !locator.identifiers.isEmpty else { return nil }
                try locator.follow(in: db)
                return locator
            }
        }
        let body: @Sendable (Database) throws -> Erasure = { db in
            var erasure = Erasure()
            for locator in found {
                try Self.erase(
                    locator, keepsRevocations: keepsRevocations, isDryRun: isDryRun, in: db, counting: &erasure)
            }
            let rows = erasure.kinds.reduce(0) { $0 + $1.count }
            if !isDryRun, !erasure.isEmpty {
                try db.execute(
                    sql: "INSERT INTO erasure (erasedAt, rows) VALUES (?, ?)", arguments: [now.milliseconds, rows])
            }
            return erasure
        }
        return try await isDryRun ? read(body) : write(body)
    }

    /// Returns the id of the last erasure, which changes with every erasure; `nil` if there was none.
    package func lastErasure() async throws(StorageError) -> Int64? {
        try await read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM erasure") }
    }

    // MARK: - Parts

    /// Returns the apps that match the bundle id and the environment; all if both are `nil`.
    private static func apps(
        _ bundleId: BundleIdentifier?, _ environment: AppStoreEnvironment?, in db: Database
    ) throws -> [(app: Int64, scope: AppScope)] {
        try Row.fetchAll(db, sql: "SELECT id, bundleId, environment FROM app ORDER BY id").compactMap { row in
            guard let app = BundleIdentifier(rawValue: row[1]), let part = AppStoreEnvironment(rawValue: row[2]),
                bundleId ?? app == app, environment ?? part == part
            else { return nil }
            return (row[0], AppScope(bundleId: app, environment: part))
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
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT transactionId, text FROM transactionRecord WHERE app = ?1
                UNION ALL SELECT transactionId, text FROM supersededTransaction WHERE app = ?1
                UNION ALL SELECT transactionId, text FROM refund WHERE app = ?1
                UNION ALL SELECT originalTransactionId, renewal FROM subscription WHERE app = ?1 AND renewal IS NOT NULL
                UNION ALL SELECT originalTransactionId, text FROM notification
                WHERE app = ?1 AND originalTransactionId IS NOT NULL
                """, arguments: [app])
        while let row = try rows.next() {
            if PersonalIdentifierScanner.all(in: row[1] as DatabaseValue).contains(tokenText) { found.insert(row[0]) }
        }
        let responses = try Row.fetchCursor(
            db, sql: "SELECT originals, body FROM lastGood WHERE app = ?", arguments: [app])
        while let row = try responses.next() {
            guard PersonalIdentifierScanner.all(in: row[1] as DatabaseValue).contains(tokenText) else { continue }
            found.formUnion((row[0] as String).split(separator: " ").map(String.init))
        }
        return found
    }

    /// Erases or counts the rows of one customer, table by table, and adds their numbers to `erasure`.
    private static func erase(
        _ locator: CustomerDataLocator, keepsRevocations: Bool, isDryRun: Bool, in db: Database,
        counting erasure: inout Erasure
    ) throws {
        let (arguments, before) = (locator.arguments, erasure)
        for table in ErasurePolicy.erased {
            let count =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM \(table.name) WHERE \(table.condition)", arguments: arguments) ?? 0
            guard count > 0 else { continue }
            if keepsRevocations, table.name == ErasurePolicy.revocations {
                erasure.keptRevocations += count
            } else {
                erasure.add(count, table.kind)
            }
            if table.name == ErasurePolicy.deliveries {
                erasure.waitingDeliveries +=
                    try Int.fetchOne(
                        db,
                        sql: "SELECT count(*) FROM delivery WHERE state = :waiting AND \(table.condition)",
                        arguments: arguments + ["waiting": DeliveryState.waiting.rawValue]) ?? 0
            }
            guard !isDryRun else { continue }
            let change =
                keepsRevocations && table.name == ErasurePolicy.revocations
                ? "UPDATE revocation SET webOrderLineItemId = NULL, reason = NULL, signedDate = NULL"
                : "DELETE FROM \(table.name)"
            try db.execute(sql: "\(change) WHERE \(table.condition)", arguments: arguments)
        }
        if erasure != before { erasure.scopes.append(locator.scope) }
    }
}
