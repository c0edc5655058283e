import Foundation
import GRDB

extension BridgeStore {
    /// What can be said of a store from outside.
    package struct Facts: Sendable, Hashable {
        /// Of the file and of what is written beside it.
        package let bytes: Int64
        /// The last step of its layout; nil for an empty file.
        package let layout: String?
        /// Whether opening it changes nothing of the layout.
        package let isCurrent: Bool
    }

    /// Looks at a store without changing it, whoever else writes there.
    ///
    /// - Throws: ``LedgerError``; `changed` for one of a newer version.
    package static func inspect(path: String) throws(LedgerError) -> Facts {
        try asLedgerError(at: path) {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let database = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? database.close() }
            return try database.read { db in
                guard try !layout.hasBeenSuperseded(db) else {
                    throw LedgerError(.changed, at: path, "a newer version of receipt-bridge wrote this file")
                }
                let applied = try layout.completedMigrations(db)
                return Facts(
                    bytes: size(of: path) + size(of: path + "-wal"), layout: applied.last,
                    isCurrent: try layout.hasCompletedMigrations(db))
            }
        }
    }

    /// `PRAGMA synchronous` of the connection that writes: 2 if every commit waits for the disk.
    package func synchronousLevel() async throws(LedgerError) -> Int {
        try await write { try $0.synchronousLevel() }
    }

    private static func size(of path: String) -> Int64 {
        let facts = try? FileManager.default.attributesOfItem(atPath: path)
        return (facts?[.size] as? NSNumber)?.int64Value ?? 0
    }
}
