import Storage
import Foundation
import GRDB
import SQLiteFiles
import AppStoreTypes

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
