import AppStoreTypes
import Cryptography
import Foundation
import PostgreSQLClient
import Storage

/// Locates all rows of one customer of one app in the store, so that an erasure can delete them.
struct CustomerDataSearch: Sendable {
    /// Runs one statement: by itself, or in a transaction.
    typealias Reader = @Sendable (PostgreSQLQuery) async throws -> PostgreSQLResult

    /// Row id of the app in table `app`.
    let app: Int64
    let scope: AppScope
    /// Transaction ids and original transaction ids.
    private(set) var identifiers: Set<String>
    /// App transaction ids: one for each customer's download of the app.
    private var appTransactionIds: Set<String> = []
    /// Row ids in table `customer`.
    private(set) var customers: Set<Int64> = []
    /// Account tokens, in lower case.
    private var tokens: Set<String> = []
    /// Row ids of notifications that no indexed column connects with the customer.
    private var notifications: Set<Int64> = []
    /// Row ids of difference examples that contain one of the customer's identifiers.
    private var examples: Set<Int64> = []
    /// Row ids of archived verifyReceipt responses.
    private var archivedResponses: Set<Int64> = []
    /// Digests of receipts in `learntIdentifiers`.
    private var receipts: Set<[UInt8]> = []

    init(app: Int64, scope: AppScope, identifiers: Set<String>) {
        self.app = app
        self.scope = scope
        self.identifiers = identifiers
    }

    /// Follows the identifiers to all rows of the same customer.
    mutating func follow(_ read: Reader) async throws {
        repeat {
            try await followIndexed(read)
            try await followReceipts(read)
            try await addAliases(read)
        } while try await followArchivedResponses(read)
        try await addAccountTokens(read)
        try await findNotifications(read)
        try await findExamples(read)
    }

    /// Follows the identifiers to the customers and records with them, by indices only.
    mutating func followIndexed(_ read: Reader) async throws {
        try await followAliases(read)
        try await followRecords(read)
        try await followEvents(read)
    }

    /// The slots that stand for the identifiers.
    var slots: [LockSlot] { identifiers.map { LockSlot($0, app: app) } }

    /// The arguments for the conditions of ``ErasureRule``.
    var arguments: [PostgreSQLValue] {
        [
            .integer(app), .texts(identifiers.sorted()), .integers(customers.sorted()),
            .integers(notifications.sorted()), .integers(examples.sorted()), .integers(archivedResponses.sorted()),
            .byteStrings(Array(receipts)), .integers(identifiers.map(SHA.short)), .text(scope.bundleId.rawValue),
            .text(scope.environment.rawValue), .texts(identifiers.union(appTransactionIds).sorted()),
        ]
    }

    // MARK: - Parts

    /// Adds customers that have one of the identifiers as an alias (table `companion`).
    private mutating func followAliases(_ read: Reader) async throws {
        let found = try await read(
            PostgreSQLQuery(
                """
                SELECT DISTINCT customer.id FROM customer JOIN companion ON companion.customer = customer.id
                WHERE app = $1 AND identifier = ANY ($2::text[])
                """, [.integer(app), .texts(Array(identifiers))]))
        for row in found.rows { customers.insert(try row.integer(0)) }
    }

    /// Follows identifiers to records, and from these to the customer and to the app transaction id, until nothing
    /// new is found.
    private mutating func followRecords(_ read: Reader) async throws {
        var before = -1
        while before != identifiers.count + appTransactionIds.count + customers.count {
            before = identifiers.count + appTransactionIds.count + customers.count
            for (condition, values) in [
                ("transactionId = ANY ($2::text[])", .texts(Array(identifiers))),
                ("originalTransactionId = ANY ($2::text[])", .texts(Array(identifiers))),
                ("appTransactionId = ANY ($2::text[])", .texts(Array(appTransactionIds))),
                ("customer = ANY ($2::bigint[])", .integers(Array(customers))),
            ] as [(String, PostgreSQLValue)] {
                let found = try await read(
                    PostgreSQLQuery(
                        """
                        SELECT transactionId, originalTransactionId, appTransactionId, customer FROM transactionRecord
                        WHERE app = $1 AND \(condition)
                        """, [.integer(app), values]))
                for row in found.rows {
                    identifiers.formUnion([try row.text(0), try row.text(1)])
                    if let appTransactionId = try row.optionalText(2) { appTransactionIds.insert(appTransactionId) }
                    if let customer = try row.optionalInteger(3) { customers.insert(customer) }
                }
            }
        }
    }

    /// Adds the keys that events of the customer have, also those from before customers were merged.
    private mutating func followEvents(_ read: Reader) async throws {
        let found = try await read(
            PostgreSQLQuery(
                "SELECT eventKey FROM customer WHERE id = ANY ($1::bigint[]) AND eventKey IS NOT NULL",
                [.integers(Array(customers))]))
        for row in found.rows { identifiers.insert(try row.text(0)) }
        var before = -1
        while before != identifiers.count {
            before = identifiers.count
            let merges = try await read(
                PostgreSQLQuery(
                    """
                    SELECT body FROM events WHERE customer = ANY ($1::text[]) AND app = $2 AND environment = $3
                    AND type = $4
                    """,
                    [
                        .texts(Array(identifiers)), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                        .text(EventType.merge.rawValue),
                    ]))
            for row in merges.rows {
                identifiers.formUnion(PersonalIdentifierScanner.all(in: try row.text(0).utf8))
            }
        }
    }

    /// The keys under which events of the customer were stored, and under which the next one would be.
    func eventKeys(_ read: Reader) async throws -> [String] {
        let keys = try await read(
            PostgreSQLQuery("SELECT DISTINCT customer FROM events WHERE \(ErasureRule.events)", arguments))
        let current = try await read(
            PostgreSQLQuery(
                "SELECT eventKey FROM customer WHERE id = ANY ($1::bigint[]) AND eventKey IS NOT NULL",
                [.integers(customers.sorted())]))
        return Set(try (keys.rows + current.rows).map { try $0.text(0) }).sorted()
    }

    /// Adds the identifiers of receipts for which Apple once returned one of the identifiers. All identifiers of such
    /// a receipt belong to the customer.
    private mutating func followReceipts(_ read: Reader) async throws {
        let pages = RowPages(
            "SELECT receipt, originals || ' ' || others FROM learntIdentifiers WHERE receipt > $1::bytea ORDER BY receipt",
            after: .bytes([]))
        try await pages.read(read) { row in
            let named = Set(try row.text(1).split(separator: " ").map(String.init))
            let receipt = try row.bytes(0)
            if !named.isDisjoint(with: identifiers) {
                identifiers.formUnion(named)
                receipts.insert(receipt)
            }
            return .bytes(receipt)
        }
    }

    /// Follows archived verifyReceipt responses that contain one of the identifiers. The purchases in them belong to
    /// the customer, except those that another customer in the store has. The exception applies only if this customer
    /// is in the store, too.
    ///
    /// - Returns: whether new identifiers were found, so that the search must continue.
    private mutating func followArchivedResponses(_ read: Reader) async throws -> Bool {
        let before = identifiers.count
        var named: Set<String> = []
        let pages = RowPages(
            "SELECT id, originals, body FROM lastGood WHERE id > $1 AND app = $2 ORDER BY id", [.integer(app)])
        try await pages.read(read) { row in
            let id = try row.integer(0)
            if !archivedResponses.contains(id) {
                let contained = PersonalIdentifierScanner.all(in: try row.bytes(2))
                if !contained.isDisjoint(with: identifiers) {
                    archivedResponses.insert(id)
                    // The tokens of a customer in the store are read from the records. A response may also contain
                    // another customer's token.
                    if customers.isEmpty { tokens.formUnion(contained.filter { UUID(uuidString: $0) != nil }) }
                    named.formUnion(try row.text(1).split(separator: " ").map(String.init))
                }
            }
            return .integer(id)
        }
        let found = try await read(
            PostgreSQLQuery(
                """
                SELECT value FROM unnest($1::text[]) AS value WHERE $4::boolean OR NOT EXISTS (
                    SELECT 1 FROM transactionRecord WHERE originalTransactionId = value AND app = $2
                    AND customer <> ALL ($3::bigint[]))
                """,
                [.texts(Array(named)), .integer(app), .integers(Array(customers)), .boolean(customers.isEmpty)]))
        for row in found.rows { identifiers.insert(try row.text(0)) }
        return identifiers.count > before
    }

    /// Adds the aliases of the customer's receipts, except those that a record of this app has as its transaction id
    /// or original transaction id. Otherwise another customer's data could be erased.
    private mutating func addAliases(_ read: Reader) async throws {
        let found = try await read(
            PostgreSQLQuery(
                """
                SELECT identifier FROM companion WHERE customer = ANY ($1::bigint[])
                AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE transactionId = identifier AND app = $2)
                AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE originalTransactionId = identifier AND app = $2)
                """, [.integers(Array(customers)), .integer(app)]))
        for row in found.rows { identifiers.insert(try row.text(0)) }
    }

    /// Adds the account tokens in the customer's current and replaced transactions.
    private mutating func addAccountTokens(_ read: Reader) async throws {
        let found = try await read(
            PostgreSQLQuery(
                """
                SELECT text FROM transactionRecord WHERE transactionId = ANY ($1::text[]) AND app = $2
                UNION ALL
                SELECT text FROM supersededTransaction WHERE transactionId = ANY ($1::text[]) AND app = $2
                """, [.texts(Array(identifiers)), .integer(app)]))
        for row in found.rows {
            tokens.formUnion(
                PersonalIdentifierScanner.all(in: try row.bytes(0)).filter { UUID(uuidString: $0) != nil })
        }
    }

    /// Finds notifications that no column connects with a purchase, by their text: those about a download of the app,
    /// for example, and those of version 1.
    private mutating func findNotifications(_ read: Reader) async throws {
        let targets = personalIdentifiers
        let pages = RowPages(
            """
            SELECT id, text FROM notification
            WHERE id > $1 AND app = $2 AND (originalTransactionId IS NULL OR version = 1) ORDER BY id
            """, [.integer(app)])
        try await pages.read(read) { row in
            let id = try row.integer(0)
            if !PersonalIdentifierScanner.all(in: try row.bytes(1)).isDisjoint(with: targets) {
                notifications.insert(id)
            }
            return .integer(id)
        }
    }

    /// Finds difference examples that contain one of the customer's identifiers or tokens.
    private mutating func findExamples(_ read: Reader) async throws {
        let targets = personalIdentifiers
        let pages = RowPages(
            """
            SELECT id, example FROM differenceExample JOIN difference ON key = difference
            WHERE id > $1 AND bundleId = $2 ORDER BY id
            """, [.text(scope.bundleId.rawValue)])
        try await pages.read(read) { row in
            let id = try row.integer(0)
            if !PersonalIdentifierScanner.all(in: try row.bytes(1)).isDisjoint(with: targets) { examples.insert(id) }
            return .integer(id)
        }
    }

    /// All texts that identify the customer in a JWS or a response.
    private var personalIdentifiers: Set<String> { identifiers.union(appTransactionIds).union(tokens) }
}
