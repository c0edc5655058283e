import ReceiptBridgeBase

extension PostgreSQLStore {
    static let schema = StoreSchema(.postgreSQL, additions: [LockSlot.creation, eventSequence])

    /// The names of the steps of this version, in the order in which they are applied.
    package static var schemaStepNames: [String] { schema.stepNames }

    /// Time for all steps. Creating an index on a large table takes minutes.
    private static let timeLimit: Duration = .seconds(1_800)

    /// Applies the steps that the database does not have. Servers that start at the same time wait for the one that
    /// applies them. Throws `changed` if a newer version has applied a step that this version cannot work with.
    func prepareSchema() async throws {
        if try await isIncomplete() { try await applySteps() }
        try await loadHeaders()
    }

    /// Needs no right to create tables.
    private func isIncomplete() async throws -> Bool {
        do {
            return try !missingSteps(in: try await client.query(Self.appliedSteps)).isEmpty
        } catch let error as PostgreSQLError where error.code == .missing {
            return true
        }
    }

    private static let appliedSteps = SQLStatement("SELECT name, isCompatible FROM schemaStep")

    private func missingSteps(in result: PostgreSQLResult) throws -> [SchemaStep] {
        let applied = try result.rows.map { (try $0.text(0), try $0.boolean(1)) }
        return try Self.schema.missingSteps(in: Dictionary(applied) { first, _ in first }, at: place)
    }

    /// Creates the table of steps unless it exists. `CREATE TABLE IF NOT EXISTS` alone fails if several servers run it
    /// at the same time: with SQLSTATE 23505, 42710 or 42P07, depending on how far the other server is. So they take
    /// turns. The lock belongs to the transaction.
    package static let createStepTable = [
        SQLStatement("SELECT pg_advisory_xact_lock(hashtextextended('receipt-bridge schemaStep', 0))"),
        SQLStatement(
            """
            CREATE TABLE IF NOT EXISTS schemaStep (
                name text PRIMARY KEY, isCompatible boolean NOT NULL, appliedAt timestamptz DEFAULT now())
            """),
    ]

    private func applySteps() async throws {
        _ = try await client.run(Self.createStepTable)
        try await client.transaction(within: Self.timeLimit) { transaction in
            _ = try await transaction.run([
                SQLStatement("SET LOCAL statement_timeout = 0"), SQLStatement("SET LOCAL lock_timeout = 0"),
                SQLStatement("LOCK TABLE schemaStep IN EXCLUSIVE MODE"),
            ])
            for step in try self.missingSteps(in: try await transaction.query(Self.appliedSteps)) {
                let record = SQLStatement(
                    "INSERT INTO schemaStep (name, isCompatible) VALUES ($1, $2)",
                    [.text(step.name), .boolean(step.isCompatible)])
                _ = try await transaction.run(step.statements.map { SQLStatement($0) } + [record])
            }
        }
    }
}
