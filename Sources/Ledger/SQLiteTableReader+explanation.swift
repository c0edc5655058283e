import Foundation

extension SQLiteTableReader {
    /// Explains a permission error of a database in WAL mode. If SQLite may not create the `-shm` file in the folder,
    /// it only reports that it cannot open the database.
    package static func explained(_ error: StorageError, path: String) -> StorageError {
        guard error.code == .notPermitted, isInWriteAheadMode(path) else { return error }
        return StorageError(
            .notPermitted, at: path,
            "the database is in WAL mode, and to read it this user must be able to write \(path)-shm in the same folder "
                + "(\(error.reason)). Copy the file together with its -wal to a writable folder, or have its "
                + "owner run PRAGMA journal_mode = DELETE on it")
    }

    /// Returns whether the format version in the file's header is 2, which means WAL mode.
    private static func isInWriteAheadMode(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let header = try? file.read(upToCount: 20) else {
            return false
        }
        return header.starts(with: "SQLite format 3\0".utf8) && header.count == 20 && header.last == 2
    }
}
