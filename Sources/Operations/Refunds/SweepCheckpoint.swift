import Foundation
package import Ledger
package import StoreTypes

/// A checkpoint file `STORE.sweep` next to the store. It records the sweeps that have not finished. It is locked, so
/// only one process can sweep at a time.
package struct SweepCheckpoint {
    private let ledger: MigrationStore

    /// - Throws: `StorageError` with code `locked` if another process is sweeping.
    package init(nextTo path: String) throws(StorageError) {
        do throws(StorageError) {
            ledger = try MigrationStore(path: path + ".sweep")
        } catch {
            guard error.code == .locked else { throw error }
            throw StorageError(.locked, at: path, "another sweep is using this store")
        }
    }

    /// Returns when the sweep with this name began: the start of an earlier run that did not finish, otherwise now.
    package func begin(_ name: String, at now: Timestamp) throws(StorageError) -> Timestamp {
        if let stored = try ledger.state(name), let milliseconds = Int64(String(decoding: stored, as: UTF8.self)) {
            return Timestamp(milliseconds: milliseconds)
        }
        try save(String(now.milliseconds), name)
        return now
    }

    /// Marks the sweep as finished, so that the next one starts over.
    package func finish(_ name: String) throws(StorageError) { try save("", name) }

    private func save(_ text: String, _ name: String) throws(StorageError) {
        try ledger.save(Array(text.utf8), as: name)
        try ledger.commit()
    }
}
