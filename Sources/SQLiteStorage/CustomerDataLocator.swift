import Storage
import Cryptography
import Foundation
import GRDB
import SQLiteFiles
import AppStoreTypes

extension PersonalIdentifierScanner {
    /// Scans a column value, TEXT or BLOB.
    static func all(in value: DatabaseValue) -> Set<String> {
        switch value.storage {
        case .string(let text): all(in: text.utf8)
        case .blob(let bytes): all(in: bytes)
        default: []
        }
    }
}

/// Locates all rows of one customer of one app in the store, so that an erasure can delete them.
struct CustomerDataLocator: Sendable {
    /// Row id of the app in table `app`.
    let app: Int64
    let scope: AppScope
    /// Transaction ids and original transaction ids.
    var identifiers: Set<String>
    /// App transaction ids: one for each customer's download of the app.
    private(set) var appTransactionIds: Set<String> = []
    /// Row ids in table `customer`.
    private(set) var customers: Set<Int64> = []
    /// Account tokens, in lower case.
    private var tokens: Set<String> = []
    /// Row ids of notifications that no indexed column connects with the customer.
    private(set) var notifications: Set<Int64> = []
    /// Row ids of difference examples that contain one of the customer's identifiers.
    private(set) var examples: Set<Int64> = []
    /// Row ids of archived verifyReceipt responses.
    private(set) var archivedResponses: Set<Int64> = []
    /// Digests of receipts in `learntIdentifiers`, in hexadecimal.
    private(set) var receiptDigests: Set<String> = []

    init(app: Int64, scope: AppScope, identifiers: Set<String>) {
        self.app = app
        self.scope = scope
        self.identifiers = identifiers
    }

    /// Follows the identifiers to all rows of the same customer.
    mutating func follow(in db: Database) throws {
        repeat {
            try followAliases(in: db)
            try followRecords(in: db)
            try followReceiptIdentifiers(in: db)
            try addAliases(in: db)
            try followEvents(in: db)
        } while try followArchivedResponses(in: db)
        try addAccountTokens(in: db)
        try findNotifications(in: db)
        try findExamples(in: db)
    }

    /// The arguments for the conditions of ``ErasureRule``.
    var arguments: StatementArguments {
        [
            "app": app, "ids": Self.list(identifiers), "owners": Self.list(identifiers.union(appTransactionIds)),
            "customers": Self.list(customers),
            "notifications": Self.list(notifications), "examples": Self.list(examples),
            "answers": Self.list(archivedResponses),
            "learnt": Self.list(receiptDigests), "digests": Self.list(Set(identifiers.map(SHA.short))),
            "bundleId": scope.bundleId.rawValue, "environment": scope.environment.rawValue,
        ]
    }

    // MARK: - Parts

    /// Adds customers that have one of the identifiers as an alias (table `companion`).
    private mutating func followAliases(in db: Database) throws {
        customers.formUnion(
            try db.integers(
                """
                SELECT DISTINCT companion.customer FROM companion JOIN customer ON customer.id = companion.customer
                WHERE app = ? AND identifier IN (SELECT value FROM json_each(?))
                """, [app, Self.list(identifiers)]))
    }

    /// Follows identifiers to records, and from these to the customer and to the app transaction id, until nothing
    /// new is found.
    private mutating func followRecords(in db: Database) throws {
        var before = -1
        while before != identifiers.count + appTransactionIds.count + customers.count {
            before = identifiers.count + appTransactionIds.count + customers.count
            for (column, list) in [
                ("transactionId", Self.list(identifiers)), ("originalTransactionId", Self.list(identifiers)),
                ("appTransactionId", Self.list(appTransactionIds)), ("customer", Self.list(customers)),
            ] {
                try db.forEachRow(
                    """
                    SELECT transactionId, originalTransactionId, appTransactionId, customer FROM transactionRecord
                    WHERE \(column) IN (SELECT value FROM json_each(?)) AND app = ?
                    """, [list, app]
                ) { row in
                    identifiers.insert(try row.text(0))
                    identifiers.insert(try row.text(1))
                    if let appTransactionId = try row.optionalText(2) { appTransactionIds.insert(appTransactionId) }
                    if let customer = try row.optionalInteger(3) { customers.insert(customer) }
                }
            }
        }
    }

    /// Adds the keys that events of the customer have, also those from before customers were merged.
    private mutating func followEvents(in db: Database) throws {
        identifiers.formUnion(
            try db.texts(
                """
                SELECT eventKey FROM customer WHERE id IN (SELECT value FROM json_each(?)) AND eventKey IS NOT NULL
                """, [Self.list(customers)]))
        var before = -1
        while before != identifiers.count {
            before = identifiers.count
            let bodies = try db.texts(
                """
                SELECT body FROM events WHERE customer IN (SELECT value FROM json_each(?)) AND app = ?
                AND environment = ? AND type = ?
                """,
                [
                    Self.list(identifiers), scope.bundleId.rawValue, scope.environment.rawValue,
                    EventType.merge.rawValue,
                ])
            for body in bodies { identifiers.formUnion(PersonalIdentifierScanner.all(in: body.utf8)) }
        }
    }

    /// Adds the identifiers of receipts for which Apple once returned one of the identifiers. All identifiers of such
    /// a receipt belong to the customer.
    private mutating func followReceiptIdentifiers(in db: Database) throws {
        try db.forEachRow("SELECT hex(receipt), originals || ' ' || others FROM learntIdentifiers") { row in
            let named = Set(try row.text(1).split(separator: " ").map(String.init))
            guard !named.isDisjoint(with: identifiers) else { return }
            identifiers.formUnion(named)
            receiptDigests.insert(try row.text(0))
        }
    }

    /// Follows archived verifyReceipt responses that contain one of the identifiers. The purchases in them belong to
    /// the customer, except those that another customer in the store has. The exception applies only if this customer
    /// is in the store, too.
    ///
    /// - Returns: whether new identifiers were found, so that the search must continue.
    private mutating func followArchivedResponses(in db: Database) throws -> Bool {
        let before = identifiers.count
        var named: Set<String> = []
        try db.forEachRow("SELECT id, originals, body FROM lastGood WHERE app = ?", [app]) { row in
            let id = try row.integer(0)
            guard !archivedResponses.contains(id) else { return }
            let contained = PersonalIdentifierScanner.all(in: row.value(2))
            guard !contained.isDisjoint(with: identifiers) else { return }
            archivedResponses.insert(id)
            // The tokens of a customer in the store are read from the records. A response may also contain another
            // customer's token.
            if customers.isEmpty { tokens.formUnion(contained.filter { UUID(uuidString: $0) != nil }) }
            named.formUnion(try row.text(1).split(separator: " ").map(String.init))
        }
        identifiers.formUnion(
            try db.texts(
                """
                SELECT value FROM json_each(?1) WHERE ?4 OR NOT EXISTS (
                    SELECT 1 FROM transactionRecord WHERE originalTransactionId = value AND app = ?2
                    AND customer NOT IN (SELECT value FROM json_each(?3)))
                """, [Self.list(named), app, Self.list(customers), customers.isEmpty]))
        return identifiers.count > before
    }

    /// Adds the aliases of the customer's receipts, except those that a record of this app has as its transaction id
    /// or original transaction id. Otherwise another customer's data could be erased.
    private mutating func addAliases(in db: Database) throws {
        identifiers.formUnion(
            try db.texts(
                """
                SELECT identifier FROM companion WHERE customer IN (SELECT value FROM json_each(?1))
                AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE transactionId = identifier AND app = ?2)
                AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE originalTransactionId = identifier AND app = ?2)
                """, [Self.list(customers), app]))
    }

    /// Adds the account tokens in the customer's current and replaced transactions.
    private mutating func addAccountTokens(in db: Database) throws {
        try db.forEachRow(
            """
            SELECT text FROM transactionRecord WHERE transactionId IN (SELECT value FROM json_each(?1)) AND app = ?2
            UNION ALL SELECT text FROM supersededTransaction
            WHERE transactionId IN (SELECT value FROM json_each(?1)) AND app = ?2
            """, [Self.list(identifiers), app]
        ) { row in
            tokens.formUnion(PersonalIdentifierScanner.all(in: row.value(0)).filter { UUID(uuidString: $0) != nil })
        }
    }

    /// Finds notifications that no column connects with a purchase, by their text: those about a download of the app,
    /// for example, and those of version 1.
    private mutating func findNotifications(in db: Database) throws {
        let targets = personalIdentifiers
        try db.forEachRow(
            "SELECT id, text FROM notification WHERE app = ? AND (originalTransactionId IS NULL OR version = 1)", [app]
        ) { row in
            let contained = PersonalIdentifierScanner.all(in: row.value(1))
            if !contained.isDisjoint(with: targets) { notifications.insert(try row.integer(0)) }
        }
    }

    /// Finds difference examples that contain one of the customer's identifiers or tokens.
    private mutating func findExamples(in db: Database) throws {
        let targets = personalIdentifiers
        try db.forEachRow(
            """
            SELECT differenceExample.rowid, example FROM differenceExample
            JOIN difference ON key = difference WHERE bundleId = ?
            """, [scope.bundleId.rawValue]
        ) { row in
            let contained = PersonalIdentifierScanner.all(in: row.value(1))
            if !contained.isDisjoint(with: targets) { examples.insert(try row.integer(0)) }
        }
    }

    /// All texts that identify the customer in a JWS or a response.
    private var personalIdentifiers: Set<String> { identifiers.union(appTransactionIds).union(tokens) }

    private static func list(_ rowIDs: Set<Int64>) -> String {
        "[" + rowIDs.map(String.init).joined(separator: ",") + "]"
    }

    private static func list(_ texts: Set<String>) -> String { SQLiteStore.list(Array(texts)) }
}
