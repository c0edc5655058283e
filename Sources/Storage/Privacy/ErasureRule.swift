/// The erasure rule of one table: which rows belong to a customer.
///
/// Every table is in ``erased(_:)``, or its kind is exempt. A test compares them with the tables of the store.
package struct ErasureRule: Sendable {
    package let table: String
    package let data: DataKind
    /// SQL condition that selects the customer's rows. Its parameters are those of ``CustomerSearch/values``.
    let condition: String

    /// The rules in an order in which foreign keys allow the rows to be deleted.
    package static func erased(_ dialect: SQLDialect) -> [ErasureRule] {
        func isTheirs(_ column: String) -> String { "\(dialect.isAny(column, "$2")) AND app = $1" }
        let theirNotifications = """
            SELECT id FROM notification WHERE \(isTheirs("originalTransactionId"))
            UNION SELECT id FROM notification WHERE \(dialect.isAny("id", "$4"))
            """
        // The rows and customers of imports, in either environment: a receipt can name the other one. The ids of rows
        // that are not authentic, and those of downloads, are no identifiers of a customer.
        let theirImports = """
            SELECT id FROM importCustomer WHERE bundleId = $9 AND (
                id IN (SELECT customer FROM importIdentifier WHERE \(dialect.isAny("identifier", "$2")))
                OR \(dialect.isAny("download", "$2")) OR \(dialect.has("$2", in: "claims", between: " ")))
            """
        let theirLists = ["originalTransactionIds", "transactionIds", "unverifiedIds"].map {
            dialect.has("$2", in: $0, between: "\"")
        }
        return [
            .init(.delivery, "notification IN (\(theirNotifications))"),
            .init(.unusualBody, "notification IN (\(theirNotifications))"),
            .init(.consumptionCase, "notification IN (\(theirNotifications))"),
            .init(.notification, "id IN (\(theirNotifications))"),
            .init(.supersededTransaction, isTheirs("transactionId")),
            .init(.transactionRecord, isTheirs("transactionId")),
            .init(.subscription, isTheirs("originalTransactionId")),
            .init(.companion, dialect.isAny("customer", "$3")),
            .init(.customer, dialect.isAny("id", "$3")),
            .init(.revocation, isTheirs("transactionId")),
            .init(.events, events(dialect)),
            .init(.presenter, "\(dialect.isAny("originalTransactionId", "$11")) AND app = $1"),
            .init(.learntIdentifiers, dialect.isAnyBytes("receipt", "$7")),
            .init(.lastGood, dialect.isAny("id", "$6")),
            .init(.differenceExample, dialect.isAny(dialect.rowID, "$5")),
            .init(
                .comparedCustomer,
                "\(dialect.isAny("customer", "$8")) AND bundleId = $9 AND environment = $10"),
            .init(
                .importedRow,
                """
                customer IN (\(theirImports))
                OR coalesce(bundleId, $9) = $9 AND (\(theirLists.joined(separator: " OR ")))
                """),
            .init(.importCustomer, "id IN (\(theirImports))"),
            .init(.importIdentifier, "customer IN (\(theirImports))"),
        ]
    }

    /// Tables of running servers whose rows expire within minutes. An erasure deletes the customer's rows, and does not
    /// count them. A row of `change` can name other customers, too: every server clears the caches of all customers
    /// after an erasure.
    static func uncounted(_ dialect: SQLDialect) -> [ErasureRule] {
        guard dialect == .postgreSQL else { return [] }
        return [
            .init(.change, "(identifiers && $2 OR transactionIds && $2) AND app = $1"),
            .init(.lookup, "identifier = ANY ($2) AND app = $1"),
        ]
    }

    /// The events of the customer, without what is left of an earlier erasure.
    static func events(_ dialect: SQLDialect) -> String {
        """
        \(dialect.isAny("customer", "$2")) AND app = $9 AND environment = $10
        AND type <> '\(EventType.erasure.rawValue)'
        """
    }

    init(_ table: StoreTable, _ condition: String) {
        self.table = table.name
        data = table.data
        self.condition = condition
    }
}
