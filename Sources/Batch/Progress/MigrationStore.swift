import GRDB
package import Storage

/// The progress file of a migration: the checkpoint, the refused rows and, with the Server API, the rows and customers
/// in progress. Their tables are described in `ProgressFile`.
package final class MigrationStore {
    /// The file, with the checkpoint.
    package let file: ProgressFile

    /// Whether ``orderCustomersByExpiry()`` was called.
    var isOrderedByExpiry = false

    /// See ``ProgressFile/hasSourceColumns``.
    var hasSourceColumns: Bool { file.hasSourceColumns }

    /// Opens the file, or creates one that only this user can read, see ``ProgressFile/init(path:)``.
    package init(path: String) throws(StorageError) {
        file = try ProgressFile(path: path)
    }

    /// Deletes all data and keeps the lock.
    package func removeAll() throws(StorageError) { try file.removeAll() }

    /// Commits. All previous writes are on disk when this returns.
    package func commit() throws(StorageError) { try file.commit() }

    /// The error for a value that differs from what was written.
    package func damaged(_ subject: String) -> StorageError { file.damaged(subject) }

    /// Writes in the file's transaction, see ``ProgressFile/write(_:)``.
    func write<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result { try file.write(body) }

    func read<Result>(_ body: (Database) throws -> Result) throws(StorageError) -> Result { try file.read(body) }
}
