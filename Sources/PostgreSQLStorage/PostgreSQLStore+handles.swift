package import AppStoreTypes
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: BridgeHandleStore {
    /// The table with the key of bridge handles, which has at most one row, and the table of keyed digests of erased
    /// ids.
    static let handlesStep = SchemaStep(
        "handles",
        [
            "CREATE TABLE handleKey (id bigint PRIMARY KEY CHECK (id = 1), key bytea NOT NULL)",
            "CREATE TABLE erasedIdentifier (digest bytea PRIMARY KEY, erasedAt bigint NOT NULL)",
        ])

    package func handleKey(
        orInserting candidate: Redacted<[UInt8]>
    ) async throws(StorageError) -> Redacted<[UInt8]> {
        let find = "SELECT key FROM handleKey"
        let existing = try await read(find)
        if let key = try key(in: existing) { return key }
        let results = try await write([
            PostgreSQLQuery(
                "INSERT INTO handleKey VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [.bytes(candidate.reveal())]),
            PostgreSQLQuery(find),
        ])
        return try key(in: results[1].rows) ?? candidate
    }

    package func lastErasure(leaving digests: [[UInt8]]) async throws(StorageError) -> Timestamp? {
        guard !digests.isEmpty else { return nil }
        let rows = try await read(
            "SELECT max(erasedAt) FROM erasedIdentifier WHERE digest = ANY ($1::bytea[])", [.byteStrings(digests)])
        return try value { () throws(PostgreSQLError) in try rows.first?.optionalTimestamp(0) }
    }

    private func key(in rows: [PostgreSQLRow]) throws(StorageError) -> Redacted<[UInt8]>? {
        try value { () throws(PostgreSQLError) in try rows.first?.bytes(0) }.map { Redacted($0) }
    }

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
