public import Synchronization

/// A bounded cache without keys: its users search the entries themselves. If it is full, the oldest entry is evicted
/// first.
///
/// For a few dozen entries that are compared with parts of the input in place: comparing is quicker than hashing, and
/// nothing of the input is copied for a lookup.
///
/// `public` and `@inlinable`, because otherwise every search would run in unspecialized generic code.
public final class FIFOCache<Entry: Sendable>: Sendable {
    @usableFromInline let storage = Mutex<[Entry]>([])
    private let capacity: Int

    public init(capacity: Int) { self.capacity = capacity }

    /// All entries, the oldest first.
    @inlinable public var entries: [Entry] { storage.withLock { $0 } }

    /// Adds an entry, unless the cache has an equal one: two threads may have computed the same at the same time.
    public func insert(_ entry: Entry, unless isEqual: (Entry) -> Bool) {
        storage.withLock { entries in
            guard !entries.contains(where: isEqual) else { return }
            entries.append(entry)
            if entries.count > capacity { entries.removeFirst() }
        }
    }

    public func removeAll() { storage.withLock { $0 = [] } }
}
