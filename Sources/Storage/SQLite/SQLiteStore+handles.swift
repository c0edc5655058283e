import GRDB

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
}
