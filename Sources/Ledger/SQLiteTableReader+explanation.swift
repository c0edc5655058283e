import Foundation

extension SQLiteTableReader {
    /// SQLite says of a database in WAL mode that it is unable to open the file if it may not write beside it.
    package static func explained(_ error: StorageError, path: String) -> StorageError {
        guard error.code == .notPermitted, isInWriteAheadMode(path) else { return error }
        return StorageError(
            .notPermitted, at: path,
            "the database is in WAL mode, and to read it this user must be able to write \(path)-shm in the same folder "
                + "(\(error.reason)). Copy the file together with its -wal to a folder that can be written, or have its "
                + "owner run PRAGMA journal_mode = DELETE on it")
    }

    /// By the version number in the file's header.
    private static func isInWriteAheadMode(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let header = try? file.read(upToCount: 20) else {
            return false
        }
        return header.starts(with: "SQLite format 3\0".utf8) && header.count == 20 && header.last == 2
    }
}
