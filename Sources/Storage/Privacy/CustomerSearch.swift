import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation

/// Locates all rows of one customer of one app in the store, so that an erasure can delete them.
struct CustomerSearch: Sendable {
    /// Row id of the app in table `app`.
    let app: Int64
    let scope: AppScope
    private let dialect: SQLDialect
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

    init(app: Int64, scope: AppScope, identifiers: Set<String>, _ dialect: SQLDialect) {
        (self.app, self.scope, self.dialect, self.identifiers) = (app, scope, dialect, identifiers)
    }

    mutating func follow(_ engine: some SQLEngine) async throws(StorageError) {
        var before: Int
        repeat {
            try await followIndexed(engine)
            before = identifiers.count
            try await followReceipts(engine)
            try await addAliases(engine)
            try await followArchivedResponses(engine)
        } while identifiers.count > before
        try await addAccountTokens(engine)
        try await findNotifications(engine)
        try await findExamples(engine)
    }

    /// Follows the identifiers to the customers and records with them, by indices only, until nothing new is found.
    private mutating func followIndexed(_ engine: some SQLEngine) async throws(StorageError) {
        var before: Int
        repeat {
            before = identifiers.count
            try await followAliases(engine)
            try await followRecords(engine)
            try await followEvents(engine)
        } while identifiers.count > before
    }

    /// Selects a row if a record, an alias or a key of events of the customer was stored since the search. What only
    /// a scan of a whole table finds is not searched again.
    var newRows: SQLStatement {
        let columns = [
            ("transactionId", "$2"), ("originalTransactionId", "$2"), ("appTransactionId", "$3"), ("customer", "$4"),
        ]
        let isNew = columns.map { column, known in "\(column) IS NOT NULL AND NOT \(dialect.isAny(column, known))" }
        // Each part has its own index.
        let parts = columns.map { column, known in
            """
            SELECT 1 FROM transactionRecord
            WHERE \(dialect.isAny(column, known)) AND app = $1 AND (\(isNew.joined(separator: " OR ")))
            UNION ALL
            """
        }
        return SQLStatement(
            """
            \(parts.joined(separator: " "))
            SELECT 1 FROM companion JOIN customer ON customer.id = companion.customer
            WHERE app = $1 AND \(dialect.isAny("identifier", "$2")) AND NOT \(dialect.isAny("customer.id", "$4"))
            UNION ALL
            SELECT 1 FROM customer
            WHERE \(dialect.isAny("id", "$4")) AND eventKey IS NOT NULL AND NOT \(dialect.isAny("eventKey", "$2"))
            LIMIT 1
            """, .integer(app), .texts(Array(identifiers)), .texts(Array(appTransactionIds)),
            .integers(Array(customers)))
    }

    /// The values of the parameters in the conditions of ``ErasureRule``.
    var values: [SQLValue] {
        [
            .integer(app), .texts(identifiers.sorted()), .integers(customers.sorted()),
            .integers(notifications.sorted()), .integers(examples.sorted()), .integers(archivedResponses.sorted()),
            .byteStrings(Array(receipts)), .integers(identifiers.map(SHA.short)), .text(scope.bundleId.rawValue),
            .text(scope.environment.rawValue), .texts(identifiers.union(appTransactionIds).sorted()),
        ]
    }

    // MARK: - Parts

    /// Adds customers that have one of the identifiers as an alias (table `companion`). Several customers with the same
    /// alias count as one customer.
    private mutating func followAliases(_ engine: some SQLEngine) async throws(StorageError) {
        customers.formUnion(
            try await engine.read(
                SQLStatement(
                    """
                    SELECT DISTINCT companion.customer FROM companion JOIN customer ON customer.id = companion.customer
                    WHERE app = $1 AND \(dialect.isAny("identifier", "$2"))
                    """, .integer(app), .texts(Array(identifiers)))
            ) { (row) throws(StorageError) in try row.rowID(0) })
    }

    /// Follows identifiers to records, and from these to the customer and to the app transaction id, until nothing
    /// new is found.
    private mutating func followRecords(_ engine: some SQLEngine) async throws(StorageError) {
        var before = -1
        while before != identifiers.count + appTransactionIds.count + customers.count {
            before = identifiers.count + appTransactionIds.count + customers.count
            for column in ["transactionId", "originalTransactionId", "appTransactionId", "customer"] {
                let values: SQLValue =
                    switch column {
                    case "customer": .integers(Array(customers))
                    case "appTransactionId": .texts(Array(appTransactionIds))
                    default: .texts(Array(identifiers))
                    }
                let found = try await engine.read(
                    SQLStatement(
                        """
                        SELECT transactionId, originalTransactionId, appTransactionId, customer FROM transactionRecord
                        WHERE \(dialect.isAny(column, "$1")) AND app = $2
                        """, values, .integer(app))
                ) { (row) throws(StorageError) in
                    (
                        ids: [try row.text(0), try row.text(1)], download: try row.optionalText(2),
                        customer: try row.number(3)
                    )
                }
                identifiers.formUnion(found.flatMap(\.ids))
                appTransactionIds.formUnion(found.compactMap(\.download))
                customers.formUnion(found.compactMap(\.customer))
            }
        }
    }

    /// Adds the keys that events of the customer have, also those from before customers were merged.
    private mutating func followEvents(_ engine: some SQLEngine) async throws(StorageError) {
        identifiers.formUnion(
            try await engine.read(
                SQLStatement(
                    "SELECT eventKey FROM customer WHERE \(dialect.isAny("id", "$1")) AND eventKey IS NOT NULL",
                    .integers(Array(customers)))
            ) { (row) throws(StorageError) in try row.text(0) })
        var before = -1
        while before != identifiers.count {
            before = identifiers.count
            let named = try await engine.read(
                SQLStatement(
                    """
                    SELECT body FROM events WHERE \(dialect.isAny("customer", "$1")) AND app = $2 AND environment = $3
                        AND type = $4
                    """, .texts(Array(identifiers)), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                    .text(EventType.merge.rawValue))
            ) { (row) throws(StorageError) in PersonalIdentifierScanner.all(in: try row.text(0).utf8) }
            identifiers.formUnion(named.joined())
        }
    }

    /// Adds the identifiers of receipts for which Apple once returned one of the identifiers. All identifiers of such
    /// a receipt belong to the customer.
    private mutating func followReceipts(_ engine: some SQLEngine) async throws(StorageError) {
        try await engine.scan(
            "SELECT receipt, originals || ' ' || others FROM learntIdentifiers WHERE receipt > $1 ORDER BY receipt",
            after: .bytes([])
        ) { (row) throws(StorageError) in
            (receipt: try row.bytes(0), named: try row.words(1))
        } _: { found in
            guard !identifiers.isDisjoint(with: found.named) else { return }
            identifiers.formUnion(found.named)
            receipts.insert(found.receipt)
        }
    }

    /// Follows archived verifyReceipt responses that contain one of the identifiers. The purchases in them belong to
    /// the customer, except those that another customer in the store has. The exception applies only if this customer
    /// is in the store, too.
    private mutating func followArchivedResponses(_ engine: some SQLEngine) async throws(StorageError) {
        var named: Set<String> = []
        try await engine.scan(
            "SELECT id, originals, body FROM lastGood WHERE id > $1 AND +app = $2 ORDER BY id", [.integer(app)]
        ) {
            [identifiers, archivedResponses] (row) throws(StorageError)
                -> (id: Int64, contained: Set<String>, originals: [String])? in
            let id = try row.rowID(0)
            guard !archivedResponses.contains(id) else { return nil }
            let contained = try row.personalIdentifiers(2)
            return contained.isDisjoint(with: identifiers) ? nil : (id, contained, try row.words(1))
        } _: { found in
            archivedResponses.insert(found.id)
            // The tokens of a customer in the store are read from the records. A response may also contain another
            // customer's token.
            if customers.isEmpty { tokens.formUnion(Self.tokens(in: found.contained)) }
            named.formUnion(found.originals)
        }
        if !customers.isEmpty {
            let others = try await engine.read(
                SQLStatement(
                    """
                    SELECT DISTINCT originalTransactionId FROM transactionRecord
                    WHERE \(dialect.isAny("originalTransactionId", "$1")) AND app = $2
                        AND NOT \(dialect.isAny("customer", "$3"))
                    """, .texts(Array(named)), .integer(app), .integers(Array(customers)))
            ) { (row) throws(StorageError) in try row.text(0) }
            named.subtract(others)
        }
        identifiers.formUnion(named)
    }

    /// Adds the aliases of the customer's receipts, except those that a record of this app has as its transaction id
    /// or original transaction id. Otherwise another customer's data could be erased.
    private mutating func addAliases(_ engine: some SQLEngine) async throws(StorageError) {
        identifiers.formUnion(
            try await engine.read(
                SQLStatement(
                    """
                    SELECT identifier FROM companion WHERE \(dialect.isAny("customer", "$1"))
                    AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE transactionId = identifier AND app = $2)
                    AND NOT EXISTS (SELECT 1 FROM transactionRecord WHERE originalTransactionId = identifier AND app = $2)
                    """, .integers(Array(customers)), .integer(app))
            ) { (row) throws(StorageError) in try row.text(0) })
    }

    /// Adds the account tokens in the customer's current and replaced transactions.
    private mutating func addAccountTokens(_ engine: some SQLEngine) async throws(StorageError) {
        let isTheirs = dialect.isAny("transactionId", "$1")
        let found = try await engine.read(
            SQLStatement(
                """
                SELECT text FROM transactionRecord WHERE \(isTheirs) AND app = $2
                UNION ALL SELECT text FROM supersededTransaction WHERE \(isTheirs) AND app = $2
                """, .texts(Array(identifiers)), .integer(app))
        ) { (row) throws(StorageError) in Self.tokens(in: try row.personalIdentifiers(0)) }
        tokens.formUnion(found.joined())
    }

    /// Finds notifications that no column connects with a purchase, by their text: those about a download of the app,
    /// for example, and those of version 1.
    private mutating func findNotifications(_ engine: some SQLEngine) async throws(StorageError) {
        notifications = try await rows(
            """
            SELECT id, text FROM notification
            WHERE id > $1 AND +app = $2 AND (originalTransactionId IS NULL OR version = 1) ORDER BY id
            """, .integer(app), engine)
    }

    private mutating func findExamples(_ engine: some SQLEngine) async throws(StorageError) {
        let id = "differenceExample.\(dialect.rowID)"
        examples = try await rows(
            """
            SELECT \(id), example FROM differenceExample JOIN difference ON key = difference
            WHERE \(id) > $1 AND bundleId = $2 ORDER BY \(id)
            """, .text(scope.bundleId.rawValue), engine)
    }

    /// Returns the ids in the first column of those rows whose second column contains an identifier or a token.
    private func rows(
        _ sql: String, _ value: SQLValue, _ engine: some SQLEngine
    ) async throws(StorageError) -> Set<Int64> {
        let targets = identifiers.union(appTransactionIds).union(tokens)
        var ids: Set<Int64> = []
        try await engine.scan(sql, [value]) { (row) throws(StorageError) in
            try row.personalIdentifiers(1).isDisjoint(with: targets) ? nil : try row.rowID(0)
        } _: { id in
            ids.insert(id)
        }
        return ids
    }

    private static func tokens(in identifiers: Set<String>) -> Set<String> {
        identifiers.filter { UUID(uuidString: $0) != nil }
    }
}

extension CustomerSearch {
    /// The numbers of rows by table, without tables without any.
    struct Footprint: Sendable {
        fileprivate let counts: [(rule: ErasureRule, count: Int)]
        fileprivate let waitingDeliveries: Int
    }

    var counts: SQLStatement {
        let rules = ErasureRule.erased(dialect)
        let isWaiting = "state = \(DeliveryState.waiting.rawValue)"
        let conditions =
            rules.map { "\($0.table) WHERE \($0.condition)" }
            + rules.filter { $0.data == .deliveries }.map { "\($0.table) WHERE \(isWaiting) AND \($0.condition)" }
        let counts = conditions.map { "(SELECT count(*) FROM \($0))" }
        return SQLStatement("SELECT \(counts.joined(separator: ", "))", values)
    }

    func footprint(_ row: some SQLRow) throws(StorageError) -> Footprint {
        let rules = ErasureRule.erased(dialect)
        var counts: [(rule: ErasureRule, count: Int)] = []
        for (column, rule) in rules.enumerated() {
            let count: Int = try row.count(column)
            if count > 0 { counts.append((rule, count)) }
        }
        return Footprint(counts: counts, waitingDeliveries: try row.count(rules.count))
    }

    /// The keys under which events of the customer were stored, and under which the next one would be.
    var eventKeys: SQLStatement {
        SQLStatement(
            """
            SELECT customer FROM events WHERE \(ErasureRule.events(dialect))
            UNION SELECT eventKey FROM customer WHERE \(dialect.isAny("id", "$3")) AND eventKey IS NOT NULL ORDER BY 1
            """, values)
    }

    /// The statements that delete the rows, or reduce them if the request says so.
    func deletions(of footprint: Footprint, for request: ErasureRequest) -> [SQLStatement] {
        guard !footprint.counts.isEmpty else { return [] }
        let counted = footprint.counts.map { rule, _ in
            request.reduces(rule.data)
                ? change("UPDATE revocation SET webOrderLineItemId = NULL, reason = NULL, signedDate = NULL", rule)
                : deletion(rule)
        }
        return ErasureRule.uncounted(dialect).map(deletion) + counted
    }

    private func deletion(_ rule: ErasureRule) -> SQLStatement { change("DELETE FROM \(rule.table)", rule) }

    private func change(_ sql: String, _ rule: ErasureRule) -> SQLStatement {
        SQLStatement("\(sql) WHERE \(rule.condition)", values)
    }
}

extension ErasureRequest {
    fileprivate func reduces(_ data: DataKind) -> Bool { keepsRevocations && data.erasure == .reducedOnRequest }
}

extension Erasure {
    mutating func add(_ rows: CustomerSearch.Footprint, in scope: AppScope, for request: ErasureRequest) {
        for (rule, count) in rows.counts {
            if request.reduces(rule.data) {
                keptRevocations += count
            } else {
                add(count, rule.data.rawValue)
            }
        }
        waitingDeliveries += rows.waitingDeliveries
        if !rows.counts.isEmpty { scopes.append(scope) }
    }

    /// The statement that tells other processes of the erasure.
    func statement(at now: Timestamp) -> SQLStatement {
        let rows = kinds.reduce(0) { $0 + $1.count }
        return SQLStatement(
            "INSERT INTO erasure (erasedAt, rows) VALUES ($1, $2)", SQLValue(now), .integer(Int64(rows)))
    }
}
