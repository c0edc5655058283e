import AppStoreTypes
import PostgreSQLClient
import Storage

extension PostgreSQLStore: BridgeHandleStore {
    /// The table with the key of bridge handles, which has at most one row, and the table of keyed digests of erased
    /// ids.
    static let handlesStep = SchemaStep(
        "handles",
        [
            "CREATE TABLE handleKey (id bigint PRIMARY KEY CHECK (id = 1), key bytea NOT NULL)",
            "CREATE TABLE erasedIdentifier (digest bytea PRIMARY KEY, erasedAt bigint NOT NULL)",
        ])

    /// Returns a statement that leaves the digests of a customer's erased ids.
    static func leave(
        _ marks: ErasureMarks, of identifiers: Set<String>, in scope: AppScope, at now: Timestamp
    ) -> PostgreSQLQuery {
        let digests = identifiers.compactMap(TransactionIdentifier.init(rawValue:)).flatMap { marks.digests($0, scope) }
        return PostgreSQLQuery(
            """
            INSERT INTO erasedIdentifier SELECT DISTINCT digest, $2::bigint FROM unnest($1::bytea[]) AS digest
            ORDER BY digest ON CONFLICT (digest)
            DO UPDATE SET erasedAt = greatest(erasedIdentifier.erasedAt, excluded.erasedAt)
            """, [.byteStrings(digests), PostgreSQLValue(now)])
    }
}
