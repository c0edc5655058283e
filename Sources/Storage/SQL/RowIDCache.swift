import ReceiptBridgeBase
import Synchronization

/// A cache of row ids by the key of the row. Only for tables whose rows are never deleted.
package final class RowIDCache<Key: Hashable & Sendable>: Sendable {
    private let ids = Mutex<[Key: Int64]>([:])

    subscript(key: Key) -> Int64? {
        get { ids.withLock { $0[key] } }
        set { ids.withLock { $0[key] = newValue } }
    }
}

extension SQLEngine {
    /// Returns the row id of an app in one environment. Inserts a missing row.
    package func appID(of scope: AppScope) async throws(StorageError) -> Int64 {
        // Only a new app waits for the writer.
        if let id = try await existingAppID(of: scope) { return id }
        try await write([
            SQLStatement(
                "INSERT INTO app (bundleId, environment) VALUES ($1, $2) ON CONFLICT (bundleId, environment) DO NOTHING",
                .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ])
        guard let id = try await existingAppID(of: scope) else {
            throw StorageError(.failed, at: place, "the row of an app cannot be read")
        }
        return id
    }

    /// Returns the row id of an app in one environment; `nil` if the store has no data of it.
    package func existingAppID(of scope: AppScope) async throws(StorageError) -> Int64? {
        if let id = appIDs[scope] { return id }
        let id = try await read(
            SQLStatement(
                "SELECT id FROM app WHERE bundleId = $1 AND environment = $2", .text(scope.bundleId.rawValue),
                .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in try row.rowID(0) }.first
        if let id { appIDs[scope] = id }
        return id
    }
}
