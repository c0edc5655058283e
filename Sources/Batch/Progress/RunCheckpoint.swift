package import ReceiptBridgeStorage

/// The checkpoint of a run, which is stored in its progress file.
package protocol RunCheckpoint: Codable {
    static var key: String { get }
}

extension RunCheckpoint {
    /// Returns whether a checkpoint was saved. A run that fails while it starts saves no checkpoint.
    static func isSaved(in file: ProgressFile) throws(StorageError) -> Bool { try file.state(key) != nil }

    package static func saved(in file: ProgressFile) throws(StorageError) -> Self? {
        try file.state(key, as: Self.self)
    }

    /// Saves the checkpoint. It and all previous writes are on disk when this returns.
    ///
    /// Not inlined, because the optimizer of Swift 6.3.1 crashes on asynchronous functions that contain these two calls
    /// ("splitting coroutine").
    @inline(never)
    package func save(in file: ProgressFile) throws {
        try file.save(encoding: self, as: Self.key)
        try file.commit()
    }
}
