import ReceiptBridgeBase
import Foundation
import Synchronization

extension PostgreSQLStore: SQLEngine {
    package struct Row: SQLRow {
        fileprivate let row: PostgreSQLRow
        fileprivate let store: PostgreSQLStore
        /// Set if the header of a JWS is not in the cache.
        fileprivate let missing: MissingHeader

        package func optionalBoolean(_ column: Int) throws(StorageError) -> Bool? {
            do { return try row.optionalBoolean(column) } catch { throw store.storageError(error) }
        }

        package func number(_ column: Int) throws(StorageError) -> Int64? {
            do { return try row.optionalInteger(column) } catch { throw store.storageError(error) }
        }

        package func optionalText(_ column: Int) throws(StorageError) -> String? {
            do { return try row.optionalText(column) } catch { throw store.storageError(error) }
        }

        package func optionalBytes(_ column: Int) throws(StorageError) -> [UInt8]? {
            do { return try row.optionalBytes(column) } catch { throw store.storageError(error) }
        }

        package func encodedText(_ column: Int) throws(StorageError) -> EncodedJWS? {
            try optionalBytes(column).map { EncodedJWS(column: $0) }
        }

        package func storedBytes(_ column: Int) throws(StorageError) -> [UInt8] {
            do { return try row.bytes(column) } catch { throw store.storageError(error) }
        }

        package func signedText(_ column: Int) throws(StorageError) -> String {
            let stored = EncodedJWS(column: try storedBytes(column))
            if let text = try store.textOfKnownHeaders(stored) { return text }
            throw missing.isFinal ? store.damagedHeader : missing.note(at: store.place)
        }

        /// The elements of a `text[]`, without nulls.
        func texts(_ column: Int) throws(StorageError) -> [String] {
            do { return try row.texts(column) } catch { throw store.storageError(error) }
        }

        package func damage(_ column: Int) -> StorageError {
            StorageError(.damaged, at: store.place, "a value of column \(column) is damaged")
        }
    }

    /// Whether a JWS has a header that is not in the cache.
    fileprivate final class MissingHeader: Sendable {
        private let stored = Mutex(false)
        /// Whether the headers were read again, so that a header that is missing now is damage.
        let isFinal: Bool

        init(isFinal: Bool) { self.isFinal = isFinal }

        var isNoted: Bool { stored.withLock { $0 } }

        func note(at place: String) -> StorageError {
            stored.withLock { $0 = true }
            return StorageError(.failed, at: place, "the header of a stored JWS is not in the cache")
        }
    }

    package static var dialect: SQLDialect { .postgreSQL }

    package func read<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await decoded(try await results(reading: [statement])[0], decode)
    }

    /// Reads with several statements in one round trip. Each of them reads a snapshot of its own.
    func rows(of statements: [SQLStatement]) async throws(StorageError) -> [[Row]] {
        let missing = MissingHeader(isFinal: true)
        return try await results(reading: statements).map { result in
            result.rows.map { Row(row: $0, store: self, missing: missing) }
        }
    }

    package func readSlowly<Value: Sendable>(
        _ statement: SQLStatement, _ decode: @escaping @Sendable (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        try await decoded(try await runSlowly([statement])[0], decode)
    }

    package func write<Value: Sendable>(
        _ statements: [SQLStatement], _ decode: @escaping @Sendable (Int, Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        var values: [Value] = []
        for (index, result) in try await results(writing: statements).enumerated() {
            values += try await decoded(result) { (row) throws(StorageError) in try decode(index, row) }
        }
        return values
    }

    /// The write and its id are stored in one transaction. So one whose outcome was unknown is not stored twice.
    package func writeOnce(_ statements: [SQLStatement]) async throws(StorageError) {
        let id = SQLStatement(
            "INSERT INTO comparisonFlush (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id",
            .text(UUID().uuidString))
        let deleteOld = SQLStatement(
            """
            DELETE FROM comparisonFlush WHERE id IN (
                SELECT id FROM comparisonFlush WHERE addedAt < now() - interval '1 hour' LIMIT 100
                FOR UPDATE SKIP LOCKED)
            """)
        try await transaction(
            SQLStep<Row, Void>.run([id]) { rows in
                rows[0].isEmpty ? .end(()) : .end((), after: statements + [deleteOld])
            })
    }

    package func run<Result: Sendable>(
        _ first: @escaping @Sendable (_ isRepetition: Bool) -> SQLStep<Row, Result>
    ) async throws(StorageError) -> Result {
        try await transaction { transaction, isRepetition in
            let missing = MissingHeader(isFinal: true)
            var step = first(isRepetition)
            while true {
                switch step {
                case .run(let statements, let next):
                    step = try next(
                        await transaction.run(statements).map { result in
                            result.rows.map { Row(row: $0, store: self, missing: missing) }
                        })
                case .end(let result, let statements):
                    try await transaction.commit(after: statements)
                    return result
                }
            }
        }
    }

    package func writeSlowly(_ statements: [SQLStatement]) async throws(StorageError) {
        _ = try await runSlowly(statements)
    }

    /// Decodes rows. If another server has stored a header since, the headers are read again.
    private func decoded<Value>(
        _ result: PostgreSQLResult, _ decode: (Row) throws(StorageError) -> Value?
    ) async throws(StorageError) -> [Value] {
        func values(_ missing: MissingHeader) throws(StorageError) -> [Value] {
            var values: [Value] = []
            for row in result.rows {
                if let value = try decode(Row(row: row, store: self, missing: missing)) { values.append(value) }
            }
            return values
        }
        let missing = MissingHeader(isFinal: false)
        do throws(StorageError) {
            return try values(missing)
        } catch {
            guard missing.isNoted else { throw error }
        }
        do { try await loadHeaders() } catch { throw storageError(error) }
        return try values(MissingHeader(isFinal: true))
    }

    package func locks(of identifiers: [(name: String, app: Int64)]) -> [SQLStatement] {
        [LockSlot.statement(identifiers.map { LockSlot($0.name, app: $0.app) })]
    }

    /// Locks the customers until the end of the transaction, in ascending order of their ids. Foreign keys can still be
    /// checked against them; merging and erasing customers excludes that, too.
    package func customerLocks(
        of purchases: [(name: String, app: Int64)], downloads: [(name: String, app: Int64)]
    ) -> [SQLStatement] {
        func owner(_ column: String, _ keys: String) -> String {
            """
            SELECT found.customer FROM unnest(\(keys)) AS wanted (identifier, app) CROSS JOIN LATERAL (
                SELECT customer FROM transactionRecord
                WHERE \(column) = wanted.identifier AND app = wanted.app AND customer IS NOT NULL LIMIT 1) AS found
            """
        }
        return [
            SQLStatement(
                """
                SELECT id FROM customer WHERE id = ANY (ARRAY(
                    \(owner("originalTransactionId", "$1::text[], $2::bigint[]"))
                    UNION ALL
                    \(owner("transactionId", "$1::text[], $2::bigint[]"))
                    UNION ALL
                    \(owner("appTransactionId", "$3::text[], $4::bigint[]"))))
                ORDER BY id FOR NO KEY UPDATE
                """,
                .texts(purchases.map(\.name)), .integers(purchases.map(\.app)), .texts(downloads.map(\.name)),
                .integers(downloads.map(\.app)))
        ]
    }

    /// With `enable_seqscan` off, a plan that is made while the tables are empty uses their indexes too. Otherwise each
    /// statement scans the tables until the next ANALYZE. With a million revocations and a million customers that takes
    /// 40 ms instead of 0.5 ms. A scan of a table without an index then counts as very expensive, and for such a plan
    /// `jit` would compile code in each execution: 36 ms for one that takes a sequence.
    package var planning: [SQLStatement] {
        [
            SQLStatement(
                """
                SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
                    set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
                """)
        ]
    }

    package func announcements(of change: StoredChange, app: Int64) -> [SQLStatement] { [add(change, app: app)] }
}

extension PostgreSQLStore: NotificationStore {}

extension PostgreSQLStore: StoreTransfer {
    /// Continues the numbers of the rows, and fills the column that only this engine has.
    package var completionOfCopy: [SQLStatement] {
        StoreTable.copied.compactMap { table in
            table.number.map { number in
                SQLStatement(
                    """
                    SELECT setval(pg_get_serial_sequence('\(table.name)', '\(number)'), coalesce(max(\(number)), 1),
                        max(\(number)) IS NOT NULL) FROM \(table.name)
                    """)
            }
        } + [
            SQLStatement(
                """
                UPDATE delivery SET subject = originalTransactionId FROM notification
                WHERE notification.id = delivery.notification
                """)
        ]
    }
}
