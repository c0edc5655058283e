package import Base
package import Storage

/// The progress of a sweep.
package struct SweepCounts: Sendable, Hashable {
    /// Number of customers in this run.
    package var customers = 0
    /// Customers whose refunds have been looked up.
    package var swept = 0
    /// Refunds reported in this run.
    package var reported = 0
    /// Customers that the App Store does not know.
    package var notFound = 0
    /// Customers whose lookup failed for now.
    package var failed = 0
    /// Customers of apps without a key.
    package var withoutKey = 0

    package init() {}
}

package typealias SweepMonitor = RunMonitor<SweepCounts>

/// A checkpoint file `STORE.sweep`. It records the sweeps that have not finished. It is locked, so only one process of
/// this machine can sweep at a time.
package struct SweepCheckpoint {
    private let ledger: ProgressFile

    /// Opens the file, or creates it: next to the file of the store, or `DATABASE.sweep` in the working directory for
    /// a store that has no file.
    ///
    /// - Throws: `StorageError` with code `locked` if another process is sweeping.
    package init(of store: StoreAddress) throws(StorageError) {
        let path =
            switch store {
            case .sqlite(let path): path
            case .postgresql(let address): address.database.replacing("/", with: "_")
            }
        do throws(StorageError) {
            ledger = try ProgressFile(path: path + ".sweep")
        } catch {
            guard error.code == .locked else { throw error }
            throw StorageError(.locked, at: path, "another sweep is using this store")
        }
    }

    /// Returns when the sweep with this name began: the start of an earlier run that did not finish, otherwise now.
    package func begin(_ name: String, at now: Timestamp) throws(StorageError) -> Timestamp {
        if let begun = try ledger.number(name, in: StoredNumber.times) { return Timestamp(milliseconds: begun) }
        try save(String(now.milliseconds), name)
        return now
    }

    /// Marks the sweep as finished, so that the next one starts over.
    package func finish(_ name: String) throws(StorageError) { try save("", name) }

    /// Saves a value of the checkpoint; an empty text means that no sweep is in progress.
    private func save(_ text: String, _ name: String) throws(StorageError) {
        try ledger.save(Array(text.utf8), as: name)
        try ledger.commit()
    }
}
