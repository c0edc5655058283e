import ReceiptBridgeBase

/// The retention rule of one table: which rows are expired, and which rows of other tables are deleted with them.
struct RetentionRule: Sendable {
    /// How the rows of a table are found.
    enum Search: Sendable {
        /// By their id, in windows.
        case ids
        /// As ``ids``. Rows with larger ids are newer, so the search ends at the first row that is not expired.
        case idsByAge
        /// By the columns of the primary key. Such tables must be small, or have an index by age.
        case key
    }

    /// The table, whose kind of data has a ``DataKind/Lifetime/period(_:days:)``.
    let table: StoreTable
    /// The kind of the rows, if it is not that of the table.
    var kind: DataKind?
    let search: Search
    /// SQL condition of an expired row. `$1` is milliseconds since 1970, `$2` is days since 1970.
    let expired: String
    /// A further SQL condition of the rows that may be deleted.
    var deletable = "true"
    /// SQL condition of the rows to search.
    var filter = "true"
    /// The column of `transactionRecord` with the ids of this table, if its rows are deleted with their records.
    var recordColumn: String?

    static let all: [RetentionRule] = [
        .init(table: .notification, search: .idsByAge, expired: "receivedAt < $1"),
        .init(
            table: .delivery, search: .ids, expired: "queuedAt < $1",
            deletable: "state IN (\(DeliveryState.delivered.rawValue), \(DeliveryState.skipped.rawValue))"),
        .init(table: .supersededTransaction, search: .idsByAge, expired: "signedDate < $1"),
        .init(
            table: .customer, search: .ids, expired: "askedAt < $1",
            deletable: """
                NOT EXISTS (
                    SELECT 1 FROM transactionRecord WHERE customer = customer.id AND signedDate >= $1)
                """, recordColumn: "customer"),
        // Records that are known only from notifications and belong to no customer, and records that a lookup has
        // detached from their customer. Both have place 0.
        .init(
            table: .transactionRecord, search: .ids, expired: "signedDate < $1",
            filter: "customer IS NULL AND place = 0", recordColumn: "id"),
        .init(table: .events, search: .idsByAge, expired: "time < $1", filter: "type <> 'refund'"),
        .init(table: .events, kind: .refunds, search: .idsByAge, expired: "time < $1", filter: "type = 'refund'"),
        .init(table: .presenter, search: .idsByAge, expired: "seenAt < $1"),
        .init(table: .learntIdentifiers, search: .key, expired: "learntAt < $1"),
        .init(table: .difference, search: .key, expired: "day < $2"),
        .init(table: .comparison, search: .key, expired: "day < $2"),
        .init(table: .comparedCustomer, search: .key, expired: "day < $2"),
        .init(table: .importedRow, search: .idsByAge, expired: "importedAt < $1"),
        .init(
            table: .importCustomer, search: .ids,
            expired: """
                (askedAt < $1 OR askedAt IS NULL
                    AND NOT EXISTS (SELECT 1 FROM importedRow WHERE importedRow.customer = importCustomer.id))
                """),
    ]

    func id(_ dialect: SQLDialect) -> String { dialect == .sqlite ? dialect.rowID : table.number ?? "id" }

    var source: String { "FROM \(table.name) WHERE \(filter) AND \(expired) AND \(deletable)" }

    /// Returns the statements that delete rows, and first the records that are deleted with them and what belongs to
    /// the records. `$1` is the ids of the rows.
    func deletions(_ dialect: SQLDialect) -> [String] {
        let rows = "DELETE FROM \(table.name) WHERE \(dialect.isAny(id(dialect), "$1"))"
        guard let recordColumn else { return [rows] }
        let records = "FROM transactionRecord WHERE \(dialect.isAny(recordColumn, "$1"))"
        let ofRecords = [
            "DELETE FROM supersededTransaction WHERE (transactionId, app) IN (SELECT transactionId, app \(records))",
            """
            DELETE FROM subscription WHERE (originalTransactionId, app) IN (SELECT originalTransactionId, app \(records))
            AND NOT EXISTS (
                SELECT 1 FROM transactionRecord AS other
                WHERE other.originalTransactionId = subscription.originalTransactionId
                AND other.app = subscription.app
                AND (other.\(recordColumn) IS NULL OR NOT \(dialect.isAny("other.\(recordColumn)", "$1"))))
            """,
            "DELETE \(records)",
        ]
        return table.name == "transactionRecord" ? ofRecords : ofRecords + [rows]
    }

    /// Returns the run of this rule; `nil` if its rows are kept forever. The name stands for the rows in the result.
    func run(_ retention: Retention, at now: Timestamp) -> (name: String, run: RetentionRun)? {
        guard case .period(let name, let days) = (kind ?? table.data).lifetime, let days = days(retention) else {
            return nil
        }
        return (name, RetentionRun(rule: self, before: now.advanced(by: .days(-days))))
    }
}

/// A retention rule with the time before which its rows are expired.
struct RetentionRun: Sendable {
    let rule: RetentionRule
    let before: Timestamp

    /// The values of `$1` and `$2` in the conditions of the rule.
    var values: [SQLValue] { [SQLValue(before), .integer(before.day)] }

    /// Number of rows that are searched in one read.
    static let window = 1_000
}

extension SQLEngine {
    /// Reads the next ``RetentionRun/window`` rows of a table, and evaluates the conditions of the rule for each.
    func search(
        _ run: RetentionRun, after id: Int64
    ) async throws(StorageError) -> [(id: Int64, isExpired: Bool, isDeletable: Bool)] {
        let (rule, column) = (run.rule, run.rule.id(dialect))
        return try await page(after: id, limit: RetentionRun.window) { last in
            // The conditions are null for a missing age.
            SQLStatement(
                """
                SELECT \(column), coalesce(\(rule.expired), false),
                    coalesce(\(rule.expired) AND \(rule.deletable), false)
                FROM \(rule.table.name) WHERE \(column) > $3 AND \(rule.filter) ORDER BY \(column) LIMIT $4
                """, run.values + [.integer(last), .integer(Int64(RetentionRun.window))])
        } _: { (row) throws(StorageError) in
            (id: try row.rowID(0), isExpired: try row.boolean(1), isDeletable: try row.boolean(2))
        }
    }
}

/// The size of the next batch of deletions. It is adapted so that each batch blocks other writes for about 20 ms:
/// doubled up to 512 after a short batch, and halved after a long one.
struct RetentionBatch: Sendable {
    private(set) var size = 64
    /// Number of rows changed so far.
    private(set) var count = 0
    private(set) var time = Duration.zero

    mutating func add(_ rows: Int, since start: ContinuousClock.Instant) {
        time = start.duration(to: .now)
        count += rows
        size = time > .milliseconds(20) ? max(size / 2, 1) : min(size * 2, 512)
    }
}
