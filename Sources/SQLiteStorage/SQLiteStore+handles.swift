package import Storage
import Foundation
import GRDB
import SQLiteFiles
package import AppStoreTypes

extension SQLiteStore: BridgeHandleStore {
    /// Creates the table with the key of bridge handles, which has at most one row, and the table of keyed digests of
    /// erased ids.
    static func addHandles(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE handleKey (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL);
                CREATE TABLE erasedIdentifier (digest BLOB PRIMARY KEY, erasedAt INTEGER NOT NULL) WITHOUT ROWID
                """)
    }

    package func handleKey(
        orInserting candidate: Redacted<[UInt8]>
    ) async throws(StorageError) -> Redacted<[UInt8]> {
        if let key = try await read(Self.handleKey) { return key }
        return try await write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO handleKey VALUES (1, ?)", arguments: [Data(candidate.reveal())])
            return try Self.handleKey(db) ?? candidate
        }
    }

    package func lastErasure(leaving digests: [[UInt8]]) async throws(StorageError) -> Timestamp? {
        guard !digests.isEmpty else { return nil }
        return try await read { db in
            try db.integer(
                """
                SELECT max(erasedAt) FROM erasedIdentifier
                WHERE digest IN (\(digests.map { _ in "?" }.joined(separator: ", ")))
                """, StatementArguments(digests.map { Data($0) }))
        }.map(Timestamp.init(milliseconds:))
    }

    private static func handleKey(_ db: Database) throws -> Redacted<[UInt8]>? {
        try db.row("SELECT key FROM handleKey").map { Redacted(try $0.bytes(0)) }
    }

    /// Leaves the digests of a customer's erased ids.
    static func leave(
        _ marks: ErasureMarks, of identifiers: Set<String>, in scope: AppScope, at now: Timestamp, _ db: Database
    ) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO erasedIdentifier VALUES (?1, ?2)
                ON CONFLICT (digest) DO UPDATE SET erasedAt = max(erasedAt, ?2)
                """)
        for identifier in identifiers.compactMap(TransactionIdentifier.init(rawValue:)) {
            for digest in marks.digests(identifier, scope) {
                try statement.execute(arguments: [Data(digest), now.milliseconds])
            }
        }
    }
}
