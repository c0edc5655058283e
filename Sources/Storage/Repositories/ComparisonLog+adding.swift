import ReceiptBridgeBase

private let differenceExamples: Int64 = 3

/// The rows are in the order of their keys, so that servers that add to the same rows wait for each other instead of
/// blocking each other.
extension ComparisonLog {
    /// Adds counts of comparisons and differences to the stored ones. The limit is that of the customers of one app and
    /// environment.
    package func add(
        comparisons: [ComparisonCount], differences: [DifferenceCount], customers: [ComparedCustomers] = [],
        limit: Int = 10_000
    ) async throws(StorageError) {
        let comparisons = merged(comparisons, by: \.key) { $0.count += $1.count }
        let differences = merged(differences, by: \.key) {
            $0.count += $1.count
            $0.last = max($0.last, $1.last)
            $0.examples += $1.examples
        }
        let slots = customers.map { (name: "compared \($0.bundleId) \($0.environment)", app: Int64(0)) }
        try await writeOnce(
            (slots.isEmpty ? [] : locks(of: slots)) + add(comparisons) + add(differences)
                + differences.flatMap(addExamples) + customers.flatMap { add($0, limit: limit) })
    }

    private func add(_ comparisons: [ComparisonCount]) -> [SQLStatement] {
        dialect.insert(
            comparisons.map { $0.key + [.integer($0.count)] }, into: .comparison,
            "day, bundleId, environment, outcome, count",
            """
            ON CONFLICT (day, bundleId, environment, outcome) DO UPDATE SET
                count = \(dialect.count("comparison.count")) + excluded.count
            """)
    }

    private func add(_ differences: [DifferenceCount]) -> [SQLStatement] {
        dialect.insert(
            differences.map { $0.key + [.integer($0.count), .integer($0.first), .integer($0.last)] },
            into: .difference, "day, bundleId, environment, verdict, rule, path, count, first, last",
            """
            ON CONFLICT (day, bundleId, environment, verdict, rule, path) DO UPDATE SET
                count = \(dialect.count("difference.count")) + excluded.count,
                last = \(dialect.greatest(dialect.time("difference.last"), "excluded.last"))
            """)
    }

    /// Adds examples to a difference that has fewer than ``differenceExamples``. Its row was locked when it was added.
    private func addExamples(_ difference: DifferenceCount) -> [SQLStatement] {
        difference.examples.prefix(Int(differenceExamples)).map { example in
            SQLStatement(
                """
                INSERT INTO differenceExample (difference, example) SELECT key, $7 FROM difference
                WHERE day = $1 AND bundleId = $2 AND environment = $3 AND verdict = $4 AND rule = $5 AND path = $6
                AND (SELECT count(*) FROM differenceExample WHERE difference = key) < \(differenceExamples)
                """, difference.key + [.bytes(example)])
        }
    }

    /// Adds customers, and updates existing ones. A customer of a rollout stays different once it was, until it is
    /// compared in another one. Of the customers of one app and environment beyond the limit, those that were compared
    /// longest ago are deleted.
    private func add(_ customers: ComparedCustomers, limit: Int) -> [SQLStatement] {
        let digests = Set(customers.digests).sorted()
        let scope: [SQLValue] = [.text(customers.bundleId), .text(customers.environment)]
        let new = dialect.rows([("digest", "$4"), ("isNew", "$5")], as: "new")
        return [
            SQLStatement(
                """
                INSERT INTO comparedCustomer (bundleId, environment, customer, day, block, isDifferent)
                SELECT $1, $2, digest, $3, $6, isNew = 1 FROM \(new) WHERE true
                ON CONFLICT (bundleId, environment, customer) DO UPDATE SET
                    day = \(dialect.greatest(dialect.count("comparedCustomer.day"), "excluded.day")),
                    block = coalesce(excluded.block, comparedCustomer.block),
                    isDifferent = excluded.isDifferent OR comparedCustomer.isDifferent AND coalesce(
                        comparedCustomer.block = coalesce(excluded.block, comparedCustomer.block), true)
                """,
                scope + [
                    .integer(customers.day), .integers(digests),
                    .integers(digests.map { customers.different.contains($0) ? 1 : 0 }), SQLValue(customers.block),
                ]),
            SQLStatement(
                """
                DELETE FROM comparedCustomer WHERE bundleId = $1 AND environment = $2 AND customer IN (
                    SELECT customer FROM comparedCustomer WHERE bundleId = $1 AND environment = $2
                    ORDER BY day DESC, customer DESC \(dialect.offset("$3")))
                """, scope + [.integer(Int64(limit))]),
        ]
    }
}

/// Returns each row once, in the order of the keys.
private func merged<Row>(_ rows: [Row], by key: (Row) -> [SQLValue], _ add: (inout Row, Row) -> Void) -> [Row] {
    var merged: [[SQLValue]: Row] = [:]
    for row in rows {
        let key = key(row)
        if merged[key] == nil {
            merged[key] = row
        } else {
            add(&merged[key, default: row], row)
        }
    }
    return merged.sorted { "\($0.key)" < "\($1.key)" }.map(\.value)
}

extension ComparisonCount {
    fileprivate var key: [SQLValue] { [.integer(day), .text(bundleId), .text(environment), .text(outcome)] }
}

extension DifferenceCount {
    /// A path contains keys of a response, and PostgreSQL's text cannot hold U+0000.
    fileprivate var key: [SQLValue] {
        [.integer(day), .text(bundleId), .text(environment), .text(verdict), .text(rule), .text(path.withoutNull)]
    }
}
