package import PostgreSQLClient
import Storage

/// A change of the schema by one version. Steps are only appended: existing ones never change.
struct SchemaStep: Sendable {
    /// Identifies the step in the table `schemaStep`.
    let name: String
    /// The statements, each of them one command.
    let statements: [String]
    /// `true` if versions without this step can use the store after it. Servers of two versions then use the store
    /// at the same time during an upgrade.
    let isCompatible: Bool

    init(_ name: String, isCompatible: Bool = true, _ statements: [String]) {
        self.name = name
        self.statements = statements
        self.isCompatible = isCompatible
    }
}

extension PostgreSQLStore {
    /// The steps, in the order in which they are applied.
    static let schemaSteps: [SchemaStep] = [
        LockSlot.schemaStep,
        customersStep,
        signedTextsStep,
        handlesStep,
        forwardingStep,
        refundsStep,
        extensionsStep,
        archiveStep,
        comparisonsStep,
        erasureStep,
        coordinationStep,
        deliveryOrderStep,
        notificationGapStep,
        rolloutsStep,
        eventsStep,
        ordersStep,
        consumptionCasesStep,
        accountTokensStep,
        appReferencesStep,
        reconciliationStep,
        companionIndexStep,
    ]

    /// The names of the steps of this version, in the order in which they are applied.
    package static var schemaStepNames: [String] { schemaSteps.map(\.name) }

    /// Time for all steps. Creating an index on a large table takes minutes.
    private static let timeLimit: Duration = .seconds(1_800)

    /// Applies the steps that the database does not have. Servers that start at the same time wait for the one that
    /// applies them.
    ///
    /// - Throws: `changed` if a newer version has applied a step that this version cannot work with.
    func prepareSchema() async throws {
        if try await !missingSteps().isEmpty { try await applySteps() }
        try await loadHeaders()
    }

    /// Returns the steps that were not applied. Needs no right to create tables.
    private func missingSteps() async throws -> [SchemaStep] {
        let applied: PostgreSQLResult
        do {
            applied = try await client.query(Self.appliedSteps)
        } catch  where error.code == .missing {
            return Self.schemaSteps
        }
        return try missingSteps(in: applied)
    }

    private static let appliedSteps = PostgreSQLQuery("SELECT name, isCompatible FROM schemaStep")

    private func missingSteps(in applied: PostgreSQLResult) throws -> [SchemaStep] {
        var names: Set<String> = []
        let known = Set(Self.schemaSteps.map(\.name))
        for row in applied.rows {
            let name = try row.text(0)
            guard try known.contains(name) || row.boolean(1) else {
                throw StorageError(
                    .changed, at: place, "an incompatible newer version of receipt-bridge uses this database")
            }
            names.insert(name)
        }
        return Self.schemaSteps.filter { !names.contains($0.name) }
    }

    /// Creates the table of steps unless it exists. `CREATE TABLE IF NOT EXISTS` alone fails if several servers run it
    /// at the same time: with SQLSTATE 23505, 42710 or 42P07, depending on how far the other server is. So they take
    /// turns. The lock belongs to the transaction.
    package static let createStepTable = [
        PostgreSQLQuery("SELECT pg_advisory_xact_lock(hashtextextended('receipt-bridge schemaStep', 0))"),
        PostgreSQLQuery(
            """
            CREATE TABLE IF NOT EXISTS schemaStep (
                name text PRIMARY KEY, isCompatible boolean NOT NULL, appliedAt timestamptz DEFAULT now())
            """),
    ]

    private func applySteps() async throws {
        _ = try await client.run(Self.createStepTable)
        try await client.transaction(within: Self.timeLimit) { transaction in
            _ = try await transaction.run([
                PostgreSQLQuery("SET LOCAL statement_timeout = 0"), PostgreSQLQuery("SET LOCAL lock_timeout = 0"),
                PostgreSQLQuery("LOCK TABLE schemaStep IN EXCLUSIVE MODE"),
            ])
            for step in try self.missingSteps(in: try await transaction.query(Self.appliedSteps)) {
                var queries = step.statements.map { PostgreSQLQuery($0) }
                queries.append(
                    PostgreSQLQuery(
                        "INSERT INTO schemaStep (name, isCompatible) VALUES ($1, $2)",
                        [.text(step.name), .boolean(step.isCompatible)]))
                _ = try await transaction.run(queries)
            }
        }
    }
}
