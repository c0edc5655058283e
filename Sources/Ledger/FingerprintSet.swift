import GRDB
import GRDBSQLite

/// A set of texts, however many: three million of them in 32 MiB of memory, the others in a temporary database of
/// SQLite's, which is gone with the process.
///
/// Kept are fingerprints of 64 bits, so that memory is enough for most. So a new text can be taken for a known one, once
/// in a million sets of five million texts; never the other way round. Which one that is depends on the texts alone and is
/// the same in every process.
package final class FingerprintSet {
    /// Asked first: a tenth of a microsecond where the database takes three.
    private var inMemory: Set<UInt64> = []
    private let memoryLimit: Int
    private var onDisk: FingerprintFile?

    /// - Parameter memoryLimit: how many to keep in memory; a set of Swift's doubles at three quarters of 2²².
    package init(memoryLimit: Int = 3 << 20) {
        self.memoryLimit = memoryLimit
    }

    /// False where it was in the set already.
    package func insert(_ text: String) throws(StorageError) -> Bool {
        var text = text
        let fingerprint = text.withUTF8 { Self.fingerprint(of: UnsafeRawBufferPointer($0)) }
        return try insert(fingerprint)
    }

    /// The same for text as it stands in a database.
    func insert(_ text: UnsafeRawBufferPointer) throws(StorageError) -> Bool {
        try insert(Self.fingerprint(of: text))
    }

    private func insert(_ fingerprint: UInt64) throws(StorageError) -> Bool {
        guard inMemory.count >= memoryLimit else { return inMemory.insert(fingerprint).inserted }
        guard !inMemory.contains(fingerprint) else { return false }
        let table: FingerprintFile
        if let onDisk { table = onDisk } else { table = try FingerprintFile() }
        onDisk = table
        return try table.insert(fingerprint)
    }

    /// FNV-1a, its bits mixed once more (the last step of MurmurHash3).
    private static func fingerprint(of text: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }
}

/// The part of a set that is on disk.
private final class FingerprintFile {
    private let queue: DatabaseQueue
    private var insertion: Statement?

    init() throws(StorageError) {
        var configuration = Configuration()
        // One transaction for good: nothing is to survive, so nothing is to be journalled.
        configuration.allowsUnsafeTransactions = true
        (queue, insertion) = try asLedgerError(at: Self.place) {
            let queue = try DatabaseQueue(path: "", configuration: configuration)
            let insertion = try queue.inDatabase { db in
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768;
                        CREATE TABLE identifier (fingerprint INTEGER PRIMARY KEY); BEGIN
                        """)
                return try db.makeStatement(sql: "INSERT INTO identifier VALUES (?) ON CONFLICT DO NOTHING")
            }
            return (queue, insertion)
        }
    }

    private static let place = "temporary database"

    /// A statement that outlives its connection keeps SQLite's half of it open, and GRDB's hooks are gone by then.
    deinit {
        insertion = nil
        try? queue.close()
    }

    func insert(_ fingerprint: UInt64) throws(StorageError) -> Bool {
        try asLedgerError(at: Self.place) {
            try queue.inDatabase { _ in
                guard let statement = insertion?.sqliteStatement else { return false }
                sqlite3_bind_int64(statement, 1, Int64(bitPattern: fingerprint))
                return try statement.run() == 1
            }
        }
    }
}
