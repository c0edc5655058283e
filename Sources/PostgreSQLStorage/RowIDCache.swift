import Synchronization

/// A cache of row ids by the key of the row. Only for tables whose rows are never deleted.
final class RowIDCache<Key: Hashable & Sendable>: Sendable {
    private let ids = Mutex<[Key: Int64]>([:])

    subscript(key: Key) -> Int64? { ids.withLock { $0[key] } }

    func insert(_ id: Int64, for key: Key) { ids.withLock { $0[key] = id } }
}
