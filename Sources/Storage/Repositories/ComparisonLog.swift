import ReceiptBridgeBase

/// Counts, differences and examples of the shadow comparison, and the rollouts that depend on it.
package protocol ComparisonLog: SQLEngine {}

extension ComparisonLog {
    /// Returns the comparisons and differences since a day, which counts from 1970-01-01, UTC.
    package func comparisons(
        since day: Int64
    ) async throws(StorageError) -> (comparisons: [ComparisonCount], differences: [DifferenceCount]) {
        let comparisons = try await readIntact(
            SQLStatement(
                """
                SELECT day, bundleId, environment, outcome, count FROM comparison WHERE day >= $1
                ORDER BY day, bundleId, environment, outcome
                """, .integer(day))
        ) { (row) throws(StorageError) in
            ComparisonCount(
                day: try row.count(0), bundleId: try row.text(1), environment: try row.text(2),
                outcome: try row.text(3), count: try row.count(4))
        }
        let examples = Dictionary(grouping: try await examples(since: day), by: \.difference)
        let differences = try await readIntact(
            SQLStatement(
                """
                SELECT key, day, bundleId, environment, verdict, rule, path, count, first, last FROM difference
                WHERE day >= $1 ORDER BY key
                """, .integer(day))
        ) { (row) throws(StorageError) in
            DifferenceCount(
                day: try row.count(1), bundleId: try row.text(2), environment: try row.text(3),
                verdict: try row.text(4), rule: try row.text(5), path: try row.text(6), count: try row.count(7),
                first: try row.timestamp(8).milliseconds, last: try row.timestamp(9).milliseconds,
                examples: examples[try row.rowID(0)]?.map(\.example) ?? [])
        }
        return (comparisons, differences)
    }

    private func examples(since day: Int64) async throws(StorageError) -> [(difference: Int64, example: [UInt8])] {
        try await readIntact(
            SQLStatement(
                """
                SELECT difference, example FROM differenceExample JOIN difference ON key = difference WHERE day >= $1
                ORDER BY difference, example
                """, .integer(day))
        ) { (row) throws(StorageError) in (try row.rowID(0), try row.bytes(1)) }
    }

    /// Returns the number of different customers compared since a day, by bundle id and environment.
    package func comparedCustomers(
        since day: Int64
    ) async throws(StorageError) -> [(bundleId: String, environment: String, count: Int64)] {
        try await readIntact(
            SQLStatement(
                """
                SELECT bundleId, environment, count(*) FROM comparedCustomer WHERE day >= $1
                GROUP BY bundleId, environment ORDER BY bundleId, environment
                """, .integer(day))
        ) { (row) throws(StorageError) in (try row.text(0), try row.text(1), try row.count(2)) }
    }
}
