public import Synchronization

/// A bounded cache with two generations. When the younger one is full, it replaces the older one, whose entries are
/// evicted together. A read moves an entry to the younger generation, so entries in use stay.
///
/// `public` and `@inlinable`, because otherwise every lookup would hash its key in unspecialized generic code.
public final class GenerationalCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Entry {
        @usableFromInline let value: Value
        @usableFromInline let cost: Int

        @inlinable
        init(value: Value, cost: Int) {
            self.value = value
            self.cost = cost
        }
    }

    @usableFromInline
    struct Generations {
        @usableFromInline var younger: [Key: Entry] = [:]
        @usableFromInline var older: [Key: Entry] = [:]
        @usableFromInline var youngerCost = 0

        @inlinable
        init() {}
    }

    @usableFromInline let generations = Mutex(Generations())
    @usableFromInline let limit: Int

    /// - Parameter limit: the bound for the costs of all values together. A value that costs more than a quarter of it
    ///   is not cached.
    public init(limit: Int) { self.limit = limit }

    /// The cached value. A hit in the older generation moves the entry to the younger one.
    @inlinable
    public subscript(key: Key) -> Value? {
        generations.withLock { generations in
            if let entry = generations.younger[key] { return entry.value }
            guard let entry = generations.older.removeValue(forKey: key) else { return nil }
            insert(entry, for: key, in: &generations)
            return entry.value
        }
    }

    /// Caches a value, and replaces an earlier one of the key. The cost is in the unit of the limit, for example bytes.
    @inlinable
    public func insert(_ value: Value, for key: Key, cost: Int) {
        generations.withLock { generations in
            remove(key, from: &generations)
            guard cost <= limit / 4 else { return }
            insert(Entry(value: value, cost: cost), for: key, in: &generations)
        }
    }

    @inlinable
    public func remove(_ key: Key) { generations.withLock { remove(key, from: &$0) } }

    @inlinable
    public func removeAll() { generations.withLock { $0 = Generations() } }

    @inlinable
    func insert(_ entry: Entry, for key: Key, in generations: inout Generations) {
        if generations.youngerCost + entry.cost > limit / 2 {
            generations.older = generations.younger
            generations.younger = [:]
            generations.youngerCost = 0
        }
        generations.younger[key] = entry
        generations.youngerCost += entry.cost
    }

    @inlinable
    func remove(_ key: Key, from generations: inout Generations) {
        generations.older[key] = nil
        if let entry = generations.younger.removeValue(forKey: key) { generations.youngerCost -= entry.cost }
    }
}

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
