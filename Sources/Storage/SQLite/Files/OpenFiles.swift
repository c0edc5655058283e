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
    /// What is wrong with the files.
    enum Loss: Sendable, Hashable { case database, log }

    private let path: String
    /// The database file is where `path` leads to, because links are followed.
    private let logs: [String]
    private let database: FileIdentity?
    private let logIdentities: [FileIdentity?]
    /// Size of the database file at the last transaction, in bytes.
    private let size = Mutex<Int64>(0)

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

    /// A file that is shorter than what was written to it; `nil` without one.
    ///
    /// - Parameter db: in a write transaction, so that no other process changes the files at the same time.
    func truncated(_ db: Database) -> Loss? {
        guard let file = SQLiteFile(SQLITE_FCNTL_FILE_POINTER, of: db), let bytes = file.size,
            let log = SQLiteFile(SQLITE_FCNTL_JOURNAL_POINTER, of: db)?.size, let logged = file.sizeOfLog
        else { return nil }
        let before = size.withLock { size in
            defer { size = bytes }
            return size
        }
        // VACUUM makes the file shorter, too, and then its header has the new number of pages.
        if bytes < before, bytes == 0 || file.sizeInHeader.map({ bytes < $0 }) ?? true { return .database }
        return log < logged ? .log : nil
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

    /// The size of the log up to the last commit, by the index of the log, in bytes.
    /// Source: https://www.sqlite.org/walformat.html, section 2.1: page size at 14, number of frames at 16.
    var sizeOfLog: Int64? {
        var index: UnsafeMutableRawPointer?
        guard methods.iVersion >= 2, methods.xShmMap?(file, 0, 32_768, 0, &index) == SQLITE_OK, let index else {
            return nil
        }
        let pageSize = Int64(index.load(fromByteOffset: 14, as: UInt16.self))
        let frames = Int64(index.load(fromByteOffset: 16, as: UInt32.self))
        return frames == 0 ? 0 : 32 + frames * (24 + (pageSize == 1 ? 65_536 : pageSize))
    }
}
