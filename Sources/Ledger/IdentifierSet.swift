import GRDB

/// A set of texts too many for memory: SQLite's own temporary database, on disk where it grows, gone with the process.
///
/// A million of them take about two seconds and 32 MiB of memory at most.
package final class IdentifierSet {
    private let queue: DatabaseQueue
    private var insertion: Statement?

    package init() throws(LedgerError) {
        var configuration = Configuration()
        // One transaction for good: nothing is to survive, so nothing is to be journalled.
        configuration.allowsUnsafeTransactions = true
        (queue, insertion) = try asLedgerError(at: Self.place) {
            let queue = try DatabaseQueue(path: "", configuration: configuration)
            let insertion = try queue.inDatabase { db in
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768;
                        CREATE TABLE identifier (id TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN
                        """)
                return try db.makeStatement(sql: "INSERT INTO identifier VALUES (?) ON CONFLICT DO NOTHING")
            }
            return (queue, insertion)
        }
    }

    /// A statement that outlives its connection keeps SQLite's half of it open, and GRDB's hooks are gone by then.
    deinit {
        insertion = nil
        try? queue.close()
    }

    private static let place = "temporary database"

    /// False where it was in the set already.
    package func insert(_ text: String) throws(LedgerError) -> Bool {
        var text = text
        return try asLedgerError(at: Self.place) {
            try queue.inDatabase { _ in
                guard let statement = insertion?.sqliteStatement else { return false }
                return try text.withUTF8 { utf8 in
                    statement.bind(text: UnsafeRawBufferPointer(utf8), at: 1)
                    return try statement.run() == 1
                }
            }
        }
    }
}
