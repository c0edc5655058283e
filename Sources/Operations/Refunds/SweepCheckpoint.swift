import Foundation
package import Ledger
package import StoreTypes

/// Which sweeps are under way, in a file beside the store. Who has it is the only one to sweep, until its process ends.
package struct SweepCheckpoint {
    private let ledger: MigrationStore

    /// - Throws: `locked` where another process sweeps.
    package init(besideStore path: String) throws(StorageError) {
        do throws(StorageError) {
            ledger = try MigrationStore(path: path + ".sweep")
        } catch {
            guard error.code == .locked else { throw error }
            throw StorageError(.locked, at: path, "another sweep works on this store")
        }
    }

    /// When the sweep of that name began: earlier, where one did not come to its end, else now.
    package func begin(_ name: String, at now: Timestamp) throws(StorageError) -> Timestamp {
        if let kept = try ledger.state(name), let number = Int64(String(decoding: kept, as: UTF8.self)) {
            return Timestamp(milliseconds: number)
        }
        try save(String(now.milliseconds), name)
        return now
    }

    /// It came to its end: the next one begins anew.
    package func finish(_ name: String) throws(StorageError) { try save("", name) }

    private func save(_ text: String, _ name: String) throws(StorageError) {
        try ledger.save(Array(text.utf8), as: name)
        try ledger.commit()
    }
}
