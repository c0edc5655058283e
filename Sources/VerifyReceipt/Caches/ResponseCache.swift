import AppStorePayloads
import Base
import Cryptography
import Responses
import Storage
import Synchronization
import Telemetry

/// A cache of `stored` and `api` responses by request. For example, if an app posts its receipt four times at launch,
/// the receipt is decoded twice and the response is rendered twice: only a body that was received before is digested
/// and its response cached.
///
/// A response is valid as long as the records that it was rendered from would be used for a new one: the store's
/// snapshot of the customer is still the same and current, or the records of the Server API are still cached.
/// Everything else that the response depends on is part of the request, or of a configuration that is fixed for the
/// lifetime of this cache.
final class ResponseCache: Sendable {
    /// Maximum size of all cached responses together, in bytes.
    private static let capacity = ProcessMemory.cacheSize(atMost: 64 << 20)

    /// A response, and the data that it was rendered from.
    struct Entry: Sendable {
        let scope: AppScope
        let keys: CustomerIdentifiers
        let records: Records
        let answer: ResponseTemplate
        /// See ``VerifyReceiptResult/consumables``.
        let consumables: ConsumableIdentifiers
    }

    /// The records that a response was rendered from, by their number.
    enum Records: Sendable {
        /// See ``StoredCustomerSnapshot/serial``. The age is the app's `storedMaxAge`.
        case stored(UInt64, maximumAge: Duration)
        /// See ``CachedRecords/serial``.
        case lookedUp(UInt64)
    }

    private let cache = GenerationalCache<[UInt8], Entry>(limit: capacity)
    private let earlier = EarlierRequests()

    /// The key of a request: SHA-256 of its body, and the endpoint that received it. `nil` if the body was not
    /// received before; its response is not cached.
    func key(of body: [UInt8], _ route: UpstreamRouter.Route) -> [UInt8]? {
        guard earlier.insert(body) else { return nil }
        let endpoint: UInt8 =
            switch route {
            case .auto: 0
            case .only(.production): 1
            case .only(.sandbox): 2
            case .only(.xcode): 3
            }
        return SHA.digest(body, with: .sha256) + [endpoint]
    }

    subscript(key: [UInt8]) -> Entry? { cache[key] }

    func removeAll() { cache.removeAll() }

    func insert(_ entry: Entry, for key: [UInt8]) {
        cache.insert(entry, for: key, cost: entry.answer.size + 1_024 + entry.consumables.all.count * 64)
    }
}

/// A fixed-size table of the hashes of earlier request bodies. A new hash overwrites an older one in the same slot.
///
/// Only the length and the end of a body are compared, because the end holds the receipt's signature. Two different
/// bodies can compare as equal. Then the digest of the second one is computed without need; its response is still
/// correct.
private final class EarlierRequests: Sendable {
    /// Number of slots, a power of two; 512 KiB of memory.
    private static let capacity = 1 << 16
    /// Number of bytes that are compared.
    private static let length = 512

    private let hashes = Mutex([Int](repeating: 0, count: capacity))

    /// Adds a body. Returns whether it was in the table already.
    func insert(_ body: [UInt8]) -> Bool {
        var hasher = Hasher()
        hasher.combine(body.count)
        body.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0.suffix(Self.length))) }
        let hash = hasher.finalize()
        let slot = hash & (Self.capacity - 1)
        return hashes.withLock { hashes in
            if hashes[slot] == hash { return true }
            hashes[slot] = hash
            return false
        }
    }
}
