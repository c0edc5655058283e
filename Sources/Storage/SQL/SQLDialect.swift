/// Where the SQL of the engines differs. Everything else of a statement is the same text.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    func either(sqlite: @autoclosure () -> String, postgreSQL: @autoclosure () -> String) -> String {
        switch self {
        case .sqlite: sqlite()
        case .postgreSQL: postgreSQL()
        }
    }

    /// A condition: the column has one of the values of an array parameter, for example `$1`, of
    /// ``SQLValue/integers(_:)`` or ``SQLValue/texts(_:)``.
    package func isAny(_ column: String, _ parameter: String) -> String {
        either(
            sqlite: "\(column) IN (SELECT value FROM json_each(\(parameter)))",
            postgreSQL: "\(column) = ANY (\(parameter))")
    }

    /// As ``isAny(_:_:)``, for a column of bytes and ``SQLValue/byteStrings(_:)``.
    func isAnyBytes(_ column: String, _ parameter: String) -> String {
        either(sqlite: isAny("hex(\(column))", parameter), postgreSQL: isAny(column, parameter))
    }

    /// A condition: a text has one of the values of an array parameter of texts, between two marks, for example spaces
    /// between words, or `"` in a list of JSON. A mark before and after the text counts, too.
    func has(_ parameter: String, in column: String, between mark: String) -> String {
        either(
            sqlite: """
                EXISTS (
                    SELECT 1 FROM json_each(\(parameter))
                    WHERE instr('\(mark)' || \(column) || '\(mark)', '\(mark)' || value || '\(mark)') > 0)
                """,
            postgreSQL: """
                EXISTS (
                    SELECT 1 FROM unnest(\(parameter)) AS wanted (value)
                    WHERE strpos('\(mark)' || \(column) || '\(mark)', '\(mark)' || wanted.value || '\(mark)') > 0)
                """)
    }

    /// The column with the number of a row. In SQLite, some tables have no other name for it.
    var rowID: String { either(sqlite: "rowid", postgreSQL: "id") }

    /// A table of the values of array parameters of the same length, one row for each index. A column is for example
    /// `("id", "$1")`.
    package func rows(_ columns: [(name: String, parameter: String)], as name: String) -> String {
        switch self {
        case .sqlite:
            let others = columns.dropFirst().map { ", json_extract(\($0.parameter), '$[' || key || ']') AS \($0.name)" }
            let (first, parameter) = columns[0]
            return "(SELECT value AS \(first)\(others.joined()) FROM json_each(\(parameter))) AS \(name)"
        case .postgreSQL:
            let (names, parameters) = (columns.map(\.name), columns.map(\.parameter))
            return "unnest(\(parameters.joined(separator: ", "))) AS \(name) (\(names.joined(separator: ", ")))"
        }
    }

    /// Joins the first row of a table with `id` that satisfies a condition, or none. Rows are looked up one by one in
    /// both engines, so that a plan that was made while the tables were empty is good for full ones. The columns of the
    /// condition are those of the table, unless they have the name of another one.
    func lookUp(_ table: String, where condition: String, as name: String) -> String {
        either(
            sqlite: """
                LEFT JOIN \(table) AS \(name) ON \(name).id = (SELECT id FROM \(table) WHERE \(condition) LIMIT 1)
                """,
            postgreSQL: "LEFT JOIN LATERAL (SELECT * FROM \(table) WHERE \(condition) LIMIT 1) AS \(name) ON true")
    }

    /// The statements that insert rows into a table: one for all, or one for each. The names are those of the columns,
    /// separated by commas. `end` is the end of the statement, for example `ON CONFLICT DO NOTHING`.
    func insert(_ rows: [[SQLValue]], into table: StoreTable, _ names: String, _ end: String) -> [SQLStatement] {
        guard !rows.isEmpty else { return [] }
        let columns = names.split { $0 == "," || $0.isWhitespace }
        let parameters = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        switch self {
        case .sqlite:
            let sql = "INSERT INTO \(table.name) (\(names)) VALUES (\(parameters)) \(end)"
            return rows.map { SQLStatement(sql, $0) }
        case .postgreSQL:
            let sql = """
                INSERT INTO \(table.name) (\(names))
                SELECT \(names) FROM unnest(\(parameters)) WITH ORDINALITY AS new (\(names), position) ORDER BY position
                \(end)
                """
            let arrays = columns.enumerated().compactMap { index, name in
                table.columns.first { $0.name == name }.map { SQLValue.array($0.type, rows.map { $0[index] }) }
            }
            return [SQLStatement(sql, arrays)]
        }
    }

    /// A condition: a value that is not NULL is in a range, and not damaged. SQLite can store any value in any column.
    private func isIn(_ range: ClosedRange<Int64>, _ column: String) -> String {
        let isBetween = "\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound)"
        return either(sqlite: "(typeof(\(column)) = 'integer' AND \(isBetween))", postgreSQL: "(\(isBetween))")
    }

    /// A condition: a value that is not NULL is a time, see ``StoredNumber/times``.
    package func isTime(_ column: String) -> String { isIn(StoredNumber.times, column) }

    /// A stored time, to be compared with another one; 0 for NULL and for what is damaged.
    func time(_ column: String) -> String { "(CASE WHEN \(isTime(column)) THEN \(column) ELSE 0 END)" }

    /// A condition: a value that is not NULL is a number of something, see ``StoredNumber/counts``.
    func isCount(_ column: String) -> String { isIn(StoredNumber.counts, column) }

    /// A stored number of something, to be computed with; 0 for what is damaged.
    package func count(_ column: String) -> String { "(CASE WHEN \(isCount(column)) THEN \(column) ELSE 0 END)" }

    /// A condition: a time is later than a stored one that is not NULL, or that is damaged. A negative one belongs to a
    /// value that is missing, which replaces nothing.
    func isNewer(_ time: String, than stored: String) -> String {
        "(\(time) > \(stored) OR \(time) >= 0 AND NOT \(isTime(stored)))"
    }

    package func exists(table: String) -> String {
        either(
            sqlite: "EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '\(table)')",
            postgreSQL: "to_regclass('\(table)') IS NOT NULL")
    }

    /// The greater of two values that are not NULL.
    package func greatest(_ first: String, _ second: String) -> String {
        either(sqlite: "max(\(first), \(second))", postgreSQL: "greatest(\(first), \(second))")
    }

    /// All rows but the first ones, at the end of a query.
    package func offset(_ parameter: String) -> String {
        either(sqlite: "LIMIT -1 OFFSET \(parameter)", postgreSQL: "OFFSET \(parameter)")
    }

    /// The time in milliseconds: the database's, which all its servers share, or the parameter, that of the only
    /// server. What several servers compare by time is compared with it. Two uses in one statement can differ.
    package func now(_ parameter: String) -> String {
        // A subquery is evaluated once in a statement, so that an index can be searched for its result.
        either(sqlite: parameter, postgreSQL: "(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)")
    }

    /// A condition: a lease, whose end is in the column, ends after a time. The present time is ``now(_:)``. Leases are
    /// short, so that one which ends in an hour or is no whole number is damaged and does not count.
    package func isLeased(_ column: String = "leasedUntil", after end: String, at now: String) -> String {
        let isRecent = "\(column) > \(end) AND \(column) < \(now) + 3600000"
        return either(
            // The condition of the index.
            sqlite: "(\(column) IS NOT NULL AND typeof(\(column)) = 'integer' AND \(isRecent))",
            postgreSQL: "(\(isRecent))")
    }

    /// The end of the lease of a delivery that is not leased.
    var noLease: String { either(sqlite: "NULL", postgreSQL: "0") }

    /// Columns of a new delivery and their values beside those that both engines have: the purchase of its
    /// notification.
    var subject: (column: String, value: String) {
        switch self {
        case .sqlite: ("", "")
        case .postgreSQL: (", subject", ", originalTransactionId")
        }
    }

    /// The key of a customer's events, in a query of `customer`. For one from before there were events, the smallest
    /// original transaction id.
    package var eventKey: String {
        let order = self == .sqlite ? "" : "COLLATE \"C\""
        return """
            coalesce(customer.eventKey, (
                SELECT originalTransactionId FROM transactionRecord WHERE transactionRecord.customer = customer.id
                ORDER BY length(originalTransactionId), originalTransactionId \(order) LIMIT 1))
            """
    }

    /// Locks the rows of a query. SQLite has one writer.
    var locking: String { either(sqlite: "", postgreSQL: "FOR UPDATE") }

    /// As ``locking``, while other transactions may insert rows that refer to these.
    var lockingContents: String { either(sqlite: "", postgreSQL: "FOR NO KEY UPDATE") }

    /// Prevents that the rows of a subquery are deleted until the end of the transaction. SQLite has one writer.
    var lockingKeys: String { either(sqlite: "", postgreSQL: "FOR KEY SHARE") }

    /// Locks the rows of a subquery, without those that another transaction has locked. SQLite has one writer.
    var lockingFree: String { either(sqlite: "", postgreSQL: "FOR UPDATE SKIP LOCKED") }
}
