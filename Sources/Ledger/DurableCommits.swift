import GRDB

extension Database {
    /// The value of `PRAGMA synchronous` at which a commit waits until the data is on disk: `FULL`.
    static let durable = 2

    /// Makes every later commit on this connection wait until the data is on disk.
    ///
    /// GRDB sets `NORMAL` when it turns on WAL, after `prepareDatabase` ran, and in WAL mode `NORMAL` does not wait
    /// for the disk. So call this on an open connection, outside a transaction.
    ///
    /// - Throws: ``StorageError`` `notDurable` if SQLite does not accept the setting.
    func requireDurableCommits(at path: String) throws {
        try execute(sql: "PRAGMA synchronous = FULL")
        let level = try synchronousLevel()
        guard level == Self.durable else {
            throw StorageError(
                .notDurable, at: path,
                "SQLite keeps PRAGMA synchronous at \(level); commits would not wait for the disk")
        }
    }

    /// The effective value of `PRAGMA synchronous`.
    func synchronousLevel() throws -> Int { try Int.fetchOne(self, sql: "PRAGMA synchronous") ?? 0 }
}
