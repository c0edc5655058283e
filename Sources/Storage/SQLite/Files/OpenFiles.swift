import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The three files of an open database: the database, its log `-wal` and `-shm`, the index of the log. The log can be
/// the only place of what was acknowledged, and the index is what makes processes wait for each other.
///
/// SQLite does not notice that one of them is removed or truncated by another program, so each transaction asks. SQLite
/// itself removes log and index only with the last connection, which is not the last one while this process has one. It
/// truncates the log only after it copied all of it, when the index says that the log is empty.
/// Source: https://www.sqlite.org/walformat.html, sections 1.1, 2.1 and 4.2.
final class OpenFiles: Sendable {
    enum Loss: Sendable, Hashable { case database, log }

    private let path: String
    /// The database file is where `path` leads to, because links are followed.
    private let logs: [String]
    private let database: FileIdentity?
    private let logIdentities: [FileIdentity?]
    /// What the files had at the last check.
    private let last = Mutex<(size: Int64, log: SQLiteFile.LogIndex?)>((0, nil))

    /// - Parameter db: a connection that has read from the database.
    init(path: String, _ db: Database) {
        self.path = path
        let resolved = sqlite3_db_filename(db.sqliteConnection, nil).map { String(cString: $0) } ?? path
        logs = [resolved + "-wal", resolved + "-shm"]
        database = FileIdentity(path: path)
        logIdentities = logs.map(FileIdentity.init(path:))
    }

    /// A file that was removed or replaced; `nil` without one.
    var missing: Loss? {
        if database != FileIdentity(path: path) { return .database }
        return logIdentities == logs.map(FileIdentity.init(path:)) ? nil : .log
    }

    /// A file that is shorter than what was written to it; `nil` without one. A program may have truncated it while a
    /// transaction wrote behind its end, so that the file is long again and has a hole. The connection is the one that
    /// writes: only in a transaction no other process changes the database file at the same time.
    func truncated(_ db: Database) -> Loss? {
        guard let file = SQLiteFile(SQLITE_FCNTL_FILE_POINTER, of: db), let bytes = file.size,
            let log = SQLiteFile(SQLITE_FCNTL_JOURNAL_POINTER, of: db), let index = file.logIndex,
            let logBytes = log.size
        else { return nil }
        return last.withLock { last in
            // VACUUM makes the file shorter, too, and then its header has the new number of pages.
            if db.isInsideTransaction, bytes < last.size,
                bytes == 0 || file.sizeInHeader.map({ bytes < $0 }) ?? true
            {
                return .database
            }
            let known = last.log.flatMap { $0.frames > 0 && $0.salt == index.salt ? $0 : nil }
            let hasHole = known.map { log.saltOfLastFrame(in: $0) != $0.salt } ?? false
            // If another process has begun the log again since the index was read, it has changed the index before.
            if logBytes < index.size || hasHole, file.logIndex == index { return .log }
            last = (db.isInsideTransaction ? bytes : last.size, index)
            return nil
        }
    }

    /// After a loss of the log: lets SQLite read again which part of it is intact, because what its index says would be
    /// copied into the database.
    /// Source: https://www.sqlite.org/walformat.html, section 2.1: whether the index is initialized.
    func discardIndexOfTruncatedLog(_ db: Database) {
        guard truncated(db) == .log else { return }
        SQLiteFile(SQLITE_FCNTL_FILE_POINTER, of: db)?.discardLogIndex()
    }

    /// Whether what the open log has belongs into the database: no other process has written to another log.
    var isLogCurrent: Bool {
        database == FileIdentity(path: path)
            && (FileIdentity(path: logs[0]) == logIdentities[0] || StoreFiles.size(of: logs[0]) == 0)
    }
}

/// A file that SQLite has open. It is read by SQLite's own descriptor: closing another one of the same file would
/// release the locks of this process.
private struct SQLiteFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// - Parameter pointer: the operation that returns the file.
    init?(_ pointer: CInt, of db: Database) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(db.sqliteConnection, "main", pointer, &file) == SQLITE_OK, let file,
            let methods = file.pointee.pMethods
        else { return nil }
        (self.file, self.methods) = (file, methods.pointee)
    }

    /// Size in bytes.
    var size: Int64? {
        var size: sqlite3_int64 = 0
        return methods.xFileSize?(file, &size) == SQLITE_OK ? size : nil
    }

    /// The size of a database file that its header states.
    /// Source: https://www.sqlite.org/fileformat.html, section 1.3: page size at 16, size in pages at 28.
    var sizeInHeader: Int64? {
        var header = [UInt8](repeating: 0, count: 32)
        guard methods.xRead?(file, &header, CInt(header.count), 0) == SQLITE_OK else { return nil }
        let pageSize = Int64(header[16]) << 8 | Int64(header[17])
        return header[28..<32].reduce(0) { $0 << 8 | Int64($1) } * (pageSize == 1 ? 65_536 : pageSize)
    }

    /// The index of a log up to the last commit.
    struct LogIndex: Equatable {
        /// The number of frames, each of which has a page.
        let frames: Int64
        let pageSize: Int64
        /// Changes each time the log begins again, and is in the header of each frame.
        let salt: UInt64

        /// The size of the log in bytes.
        var size: Int64 { frames == 0 ? 0 : offset(ofFrame: frames + 1) }

        /// - Parameter number: from 1.
        func offset(ofFrame number: Int64) -> Int64 { 32 + (number - 1) * (24 + pageSize) }
    }

    /// The first part of the index of the log of a database file.
    private var logIndexPointer: UnsafeMutableRawPointer? {
        var index: UnsafeMutableRawPointer?
        return methods.iVersion >= 2 && methods.xShmMap?(file, 0, 32_768, 0, &index) == SQLITE_OK ? index : nil
    }

    /// The index of the log of a database file.
    /// Source: https://www.sqlite.org/walformat.html, section 2.1: page size at 14, number of frames at 16, salt at 32.
    var logIndex: LogIndex? {
        logIndexPointer.map { index in
            let pageSize = Int64(index.load(fromByteOffset: 14, as: UInt16.self))
            return LogIndex(
                frames: Int64(index.load(fromByteOffset: 16, as: UInt32.self)),
                pageSize: pageSize == 1 ? 65_536 : pageSize, salt: index.load(fromByteOffset: 32, as: UInt64.self))
        }
    }

    /// Marks both copies of the index's header, of 48 bytes each, as not initialized (at 12).
    func discardLogIndex() {
        for copy in [0, 48] { logIndexPointer?.storeBytes(of: 0, toByteOffset: copy + 12, as: UInt8.self) }
    }

    /// The salt of a frame of this log, the last one of an index.
    /// Source: https://www.sqlite.org/fileformat2.html, section 4.1: salt at 8.
    func saltOfLastFrame(in index: LogIndex) -> UInt64? {
        var salt: UInt64 = 0
        return methods.xRead?(file, &salt, 8, index.offset(ofFrame: index.frames) + 8) == SQLITE_OK ? salt : nil
    }
}
