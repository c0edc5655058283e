import PostgreSQLClient
import Storage

/// One statement that stores notifications and their records, or the transactions of a refund history. Its snapshot is
/// taken after the slots and customers were locked by earlier statements of the transaction, so the rows that it reads
/// do not change meanwhile.
///
/// The rows of one statement have no identifier in common, because none of them sees the changes by the others. They
/// can have the same customer.
struct RecordStatement: Hashable {
    /// `true` for notifications, `false` for refund histories.
    let hasNotifications: Bool
    /// Whether an event is stored for each change.
    let hasEvents: Bool
    /// Whether notifications are forwarded.
    var hasDeliveries = false

    /// Whether the transaction of a row is the most recently signed one of its purchase, by the position of the row.
    /// A notification that is already stored changes nothing and is not in the result.
    typealias Outcomes = [Int: Bool]

    /// The statement after the locks and before the statements of a transaction. It takes the sequences of the events,
    /// and makes PostgreSQL plan each statement once for each connection: the plan does not depend on the parameters,
    /// and planning takes longer than storing a row.
    var preparation: PostgreSQLQuery { hasEvents ? Self.allocation : Self.planning }

    private static let allocation = PostgreSQLQuery(PostgreSQLStore.takingSequences(and: planOnce))
    private static let planning = PostgreSQLQuery("SELECT \(planOnce)")
    /// With `enable_seqscan` off, a plan that is made while the tables are empty uses their indexes too. Otherwise each
    /// statement scans the tables until the next ANALYZE. With a million revocations and a million customers that takes
    /// 40 ms instead of 0.5 ms.
    private static let planOnce = """
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)
        """

    /// Returns the statements that store rows.
    ///
    /// - Parameter writer: identifies the store object in the change feed.
    func queries(_ rows: [RecordRow], writer: Int64) -> [PostgreSQLQuery] {
        RecordRow.groups(rows).map { query(rows, at: $0, writer: writer) }
    }

    private func query(_ rows: [RecordRow], at positions: [Int], writer: Int64) -> PostgreSQLQuery {
        var arguments: [PostgreSQLValue] = [.integers(positions.map(Int64.init))]
        arguments.reserveCapacity(RecordRow.columns.count + 5)
        for (index, column) in RecordRow.columns.enumerated() {
            arguments.append(.array(column.type, positions.map { rows[$0].values[index] }))
        }
        if hasNotifications { arguments.append(.integer(writer)) }
        var statement = self
        let deliveries = positions.flatMap { position in rows[position].targets.map { (Int64(position), $0) } }
        if !deliveries.isEmpty {
            statement.hasDeliveries = true
            let bodies = positions.compactMap { position in rows[position].rawBody.map { (Int64(position), $0) } }
            arguments += [
                .integers(deliveries.map(\.0)), .integers(deliveries.map(\.1)), .integers(bodies.map(\.0)),
                .byteStrings(bodies.map(\.1)),
            ]
        }
        return PostgreSQLQuery(Self.texts[statement] ?? statement.text, arguments)
    }

    /// The texts of all statements. A statement is prepared once for each text.
    private static let texts: [RecordStatement: String] = {
        var texts: [RecordStatement: String] = [:]
        for (hasNotifications, hasDeliveries) in [(false, false), (true, false), (true, true)] {
            for hasEvents in [false, true] {
                let statement = RecordStatement(
                    hasNotifications: hasNotifications, hasEvents: hasEvents, hasDeliveries: hasDeliveries)
                texts[statement] = statement.text
            }
        }
        return texts
    }()

    /// Returns the outcomes from the results of the statements.
    static func outcomes(_ results: some Sequence<PostgreSQLResult>) throws(PostgreSQLError) -> Outcomes {
        var outcomes: Outcomes = [:]
        for result in results {
            for row in result.rows { outcomes[Int(try row.integer(0))] = try row.boolean(1) }
        }
        return outcomes
    }
}
