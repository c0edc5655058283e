/// A change of the tables by one version. Steps are only appended: existing ones never change.
package struct SchemaStep: Sendable {
    package let name: String
    /// The statements, each of them one command.
    package let statements: [String]
    /// `true` if versions without this step can use a PostgreSQL store after it. Servers of two versions then use the
    /// store at the same time during an upgrade.
    package let isCompatible: Bool

    init(_ name: String, isCompatible: Bool = true, _ statements: [String]) {
        (self.name, self.statements, self.isCompatible) = (name, statements, isCompatible)
    }
}

/// The schema of one engine: how an empty store gets its tables, and how a store of an earlier version gets what it
/// lacks.
///
/// A new store is created from the declarations of ``StoreTable``, and all steps count as applied. Stores of 0.1.0 and
/// later have the ``baseline`` and get the later ``steps``. So a new column stands at the end of a declaration, and in
/// a step.
package struct StoreSchema: Sendable {
    let dialect: SQLDialect
    /// The statements that the engine needs in addition to those that create the tables.
    private let additions: [String]

    init(_ dialect: SQLDialect, additions: [String] = []) {
        self.dialect = dialect
        self.additions = additions
    }

    /// The names of the steps that a store of 0.1.0 has.
    private var baseline: [String] {
        let names = dialect.either(
            sqlite: """
                comparisons customers extensions refunds forwarding erasure lastGood signedTexts hints learntByOriginals
                comparedCustomers leases handles coordination rollouts events orders consumptionCases accountTokens
                """,
            postgreSQL: """
                lockSlots customers signedTexts handles forwarding refunds extensions lastGood comparisons erasure
                coordination deliveryOrder notificationGap rollouts events orders consumptionCases accountTokens
                """)
        return names.split { $0.isWhitespace }.map(String.init)
    }

    /// The steps after 0.1.0. Their SQL is complete: it does not follow from declarations, which change later.
    private var steps: [SchemaStep] {
        let (integer, text) = (StoreTable.ColumnType.integer.name(dialect), StoreTable.ColumnType.text.name(dialect))
        let appReferences = SchemaStep(
            "appReferences",
            ["notification", "transactionRecord", "supersededTransaction", "subscription", "change"].map { table in
                "ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS \(table)_app_fkey"
            })
        return (dialect == .postgreSQL ? [appReferences] : []) + [
            SchemaStep(
                "reconciliation",
                [
                    "ALTER TABLE transactionRecord ADD COLUMN expiresDate \(integer)",
                    """
                    CREATE INDEX transactionByExpiry ON transactionRecord
                        (expiresDate\(dialect == .sqlite ? "" : ", id")) WHERE expiresDate > 0
                    """,
                    "CREATE INDEX transactionWithoutExpiry ON transactionRecord (id) WHERE expiresDate IS NULL",
                    """
                    CREATE TABLE reconciliation (
                        id \(integer) PRIMARY KEY, startedAt \(integer) NOT NULL, endedAt \(integer),
                        continuesAt \(integer), windowSeconds \(integer) NOT NULL, notifications \(integer) NOT NULL,
                        customers \(integer) NOT NULL, different \(integer) NOT NULL, refunds \(integer) NOT NULL,
                        failed \(integer) NOT NULL)
                    """,
                ]),
            SchemaStep("companionIndex", ["CREATE INDEX companionByIdentifier ON companion (identifier)"]),
            SchemaStep("factTimes", ["ALTER TABLE revocation ADD COLUMN askedAt \(integer)"]),
            SchemaStep(
                "customersToLookUp",
                [("customerByLookup", "IS NULL"), ("customerToLookUp", "> 0")].map { name, condition in
                    "CREATE INDEX \(name) ON customer (askedAt\(dialect == .sqlite ? "" : ", id")) "
                        + "WHERE needsLookupSince \(condition)"
                }),
            SchemaStep("reconciledHistory", ["ALTER TABLE reconciliation ADD COLUMN history \(text)"]),
        ] + (dialect == .sqlite ? [SchemaStep("wholeHints", ["DROP INDEX wholeHint"])] : []) + [
            retiredTables(integer, text),
            SchemaStep("imports", importTables(integer, text) + importIndexes.map { "CREATE INDEX \($0)" }),
        ]
    }

    /// The customers of rollouts become compared customers, each with the last rollout. A refund that was printed is
    /// not printed again; any other is found again by the next sweep.
    private func retiredTables(_ integer: String, _ text: String) -> SchemaStep {
        let isDifferent = dialect.either(
            sqlite: "isDifferent INTEGER NOT NULL DEFAULT 0", postgreSQL: "isDifferent boolean NOT NULL DEFAULT false")
        let isTold = dialect.either(sqlite: "isTold = 1", postgreSQL: "isTold")
        return SchemaStep(
            "retiredTables", isCompatible: false,
            [
                "ALTER TABLE transactionRecord ADD COLUMN reportedRefund \(integer)",
                """
                UPDATE transactionRecord SET reportedRefund = (
                    SELECT -max(date) FROM refund
                    WHERE refund.transactionId = transactionRecord.transactionId AND refund.app = transactionRecord.app
                        AND \(isTold))
                WHERE (transactionId, app) IN (SELECT transactionId, app FROM refund WHERE \(isTold))
                """,
                "ALTER TABLE comparedCustomer ADD COLUMN block \(text)",
                "ALTER TABLE comparedCustomer ADD COLUMN \(isDifferent)",
                """
                INSERT INTO comparedCustomer (bundleId, environment, customer, day, block, isDifferent)
                SELECT bundleId, environment, customer, comparedAt / 86400000, block, isDifferent
                FROM rolloutCustomer AS one JOIN rollout ON rollout.id = one.rollout
                WHERE NOT EXISTS (
                    SELECT 1 FROM rollout AS other JOIN rolloutCustomer AS later ON later.rollout = other.id
                    WHERE other.bundleId = rollout.bundleId AND later.environment = one.environment
                        AND later.customer = one.customer
                        AND (later.comparedAt, other.id) > (one.comparedAt, rollout.id))
                ON CONFLICT (bundleId, environment, customer) DO UPDATE SET
                    block = excluded.block, isDifferent = excluded.isDifferent
                """,
            ]
                + [
                    "handleKey", "erasedIdentifier", "renewalExtension", "orderLookup", "rolloutCustomer", "refund",
                    "refundSweep", "refundOutput",
                ].map { "DROP TABLE \($0)" })
    }

    /// The names of the steps of this version, in the order in which they are applied.
    package var stepNames: [String] { baseline + steps.map(\.name) }

    /// Returns the steps that a store lacks, in the order in which they are applied. For an empty store, the first one
    /// creates all tables, and the others do nothing. The applied steps have their names, and whether this version can
    /// use the store if it does not know the step. Throws `changed` if a newer version has applied a step that this
    /// version cannot work with, and for a store from before 0.1.0.
    package func missingSteps(in applied: [String: Bool], at place: String) throws(StorageError) -> [SchemaStep] {
        let names = stepNames
        guard applied.allSatisfy({ names.contains($0.key) || $0.value }) else {
            throw StorageError(
                .changed, at: place,
                dialect == .sqlite
                    ? "a newer version of receipt-bridge wrote this file"
                    : "an incompatible newer version of receipt-bridge uses this database")
        }
        if applied.isEmpty {
            let creation = StoreTable.all(of: dialect).flatMap { $0.creation(dialect) } + additions
            let incompatible = Set(steps.lazy.filter { !$0.isCompatible }.map(\.name))
            return names.enumerated().map {
                SchemaStep($1, isCompatible: !incompatible.contains($1), $0 == 0 ? creation : [])
            }
        }
        guard baseline.allSatisfy({ applied[$0] != nil }) else {
            throw StorageError(.changed, at: place, "the store is from before 0.1.0; open it once with version 0.1.0")
        }
        return steps.filter { applied[$0.name] == nil }
    }
}
