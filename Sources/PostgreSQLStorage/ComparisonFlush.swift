import Base
import PostgreSQLClient
import Storage

/// Adds counts of comparisons and differences to the stored ones. The rows are in the order of their keys, so that
/// servers that add to the same rows wait for each other instead of blocking each other.
struct ComparisonFlush: Sendable {
    /// Each row once.
    private let comparisons: [ComparisonCount]
    private let differences: [DifferenceCount]

    init(comparisons: [ComparisonCount], differences: [DifferenceCount]) {
        self.comparisons = Self.merged(comparisons, by: \.key) { $0.count += $1.count }
        self.differences = Self.merged(differences, by: \.key) {
            $0.count += $1.count
            $0.last = max($0.last, $1.last)
            $0.examples += $1.examples
        }
    }

    private static func merged<Row>(
        _ rows: [Row], by key: (Row) -> [String], _ add: (inout Row, Row) -> Void
    ) -> [Row] {
        var merged: [[String]: Row] = [:]
        for row in rows {
            let key = key(row)
            if merged[key] == nil {
                merged[key] = row
            } else {
                add(&merged[key, default: row], row)
            }
        }
        return merged.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    }

    /// - Parameter limit: maximum number of examples of each difference.
    func queries(examples limit: Int) -> [PostgreSQLQuery] {
        var queries: [PostgreSQLQuery] = []
        if !comparisons.isEmpty { queries.append(addComparisons) }
        if !differences.isEmpty { queries += [addDifferences, addExamples(limit: limit)] }
        return queries
    }

    private var addComparisons: PostgreSQLQuery {
        PostgreSQLQuery(
            """
            INSERT INTO comparison (day, bundleId, environment, outcome, count)
            SELECT day, bundleId, environment, outcome, count
            FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                WITH ORDINALITY AS new (day, bundleId, environment, outcome, count, position) ORDER BY position
            ON CONFLICT (day, bundleId, environment, outcome)
                DO UPDATE SET count = comparison.count + excluded.count
            """,
            [
                .integers(comparisons.map(\.day)), .texts(comparisons.map(\.bundleId)),
                .texts(comparisons.map(\.environment)), .texts(comparisons.map(\.outcome)),
                .integers(comparisons.map(\.count)),
            ])
    }

    private var addDifferences: PostgreSQLQuery {
        PostgreSQLQuery(
            """
            INSERT INTO difference (day, bundleId, environment, verdict, rule, path, count, first, last)
            SELECT day, bundleId, environment, verdict, rule, path, count, first, last
            FROM unnest(\(Self.keyParameters), $7::bigint[], $8::bigint[], $9::bigint[])
                WITH ORDINALITY AS new (\(Self.keyColumns), count, first, last, position) ORDER BY position
            ON CONFLICT (\(Self.keyColumns)) DO UPDATE SET
                count = difference.count + excluded.count, last = greatest(difference.last, excluded.last)
            """,
            Self.keys(of: differences) + [
                .integers(differences.map(\.count)), .integers(differences.map(\.first)),
                .integers(differences.map(\.last)),
            ])
    }

    /// Adds examples to the differences that have fewer than `limit`. The differences are locked by the statement
    /// before.
    private func addExamples(limit: Int) -> PostgreSQLQuery {
        let examples = differences.flatMap { difference in
            difference.examples.prefix(limit).map { (difference: difference, example: $0) }
        }
        return PostgreSQLQuery(
            """
            INSERT INTO differenceExample (difference, example)
            SELECT key, example FROM (
                SELECT key, example, position, row_number() OVER (PARTITION BY key ORDER BY position)
                    + (SELECT count(*) FROM differenceExample WHERE difference = key) AS number
                FROM unnest(\(Self.keyParameters), $7::bytea[])
                    WITH ORDINALITY AS new (\(Self.keyColumns), example, position)
                JOIN difference USING (\(Self.keyColumns))) AS numbered
            WHERE number <= $8::bigint ORDER BY position
            """,
            Self.keys(of: examples.map(\.difference)) + [
                .byteStrings(examples.map(\.example)), .integer(Int64(limit)),
            ])
    }

    private static let keyColumns = "day, bundleId, environment, verdict, rule, path"
    private static let keyParameters = "$1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]"

    private static func keys(of rows: [DifferenceCount]) -> [PostgreSQLValue] {
        [
            .integers(rows.map(\.day)), .texts(rows.map(\.bundleId)), .texts(rows.map(\.environment)),
            .texts(rows.map(\.verdict)), .texts(rows.map(\.rule)),
            // A path contains keys of a response, and PostgreSQL's text cannot hold U+0000.
            .texts(rows.map { $0.path.withoutNull }),
        ]
    }
}

extension ComparisonCount {
    fileprivate var key: [String] { ["\(day)", bundleId, environment, outcome] }
}

extension DifferenceCount {
    fileprivate var key: [String] { ["\(day)", bundleId, environment, verdict, rule, path] }
}
