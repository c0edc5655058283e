import Base
import Foundation
import GRDB

extension SQLiteStore: ResponseArchiveStore {
    /// Creates the archive table `lastGood`, with one row for each request. `originals` contains original transaction
    /// ids, separated by spaces.
    static func addLastGood(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE lastGood (
                    id INTEGER PRIMARY KEY, question BLOB NOT NULL UNIQUE, app INTEGER NOT NULL REFERENCES app (id),
                    keptAt INTEGER NOT NULL, size INTEGER NOT NULL, originals TEXT NOT NULL, digest BLOB NOT NULL,
                    status INTEGER NOT NULL, body BLOB NOT NULL, latestReceipt BLOB);
                CREATE INDEX lastGoodByDate ON lastGood (keptAt, size);
                CREATE INDEX lastGoodByOriginals ON lastGood (app, originals);
                """)
    }
}
