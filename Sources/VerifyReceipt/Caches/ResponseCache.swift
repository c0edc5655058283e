import AppStorePayloads
import Base
import BridgeConfiguration
import Cryptography
import ReceiptDecoding
import Responses
import Storage
import Synchronization
import Telemetry

/// A cache of `stored` and `api` responses by request: which requests it answers, and which responses are added to it.
/// For example, if an app posts its receipt four times at launch, the receipt is decoded twice and the response is
/// rendered twice: only a body that was received before is digested and its response cached.
///
/// A response is valid as long as the records that it was rendered from would be used for a new one: the store's
/// snapshot of the customer is still the same and current, or the records of the Server API are still cached.
/// Everything else that the response depends on is part of the request, or of a configuration that is fixed for the
/// lifetime of this cache.
final class ResponseCache: ResponseObserver {
    /// Maximum size of all cached responses together, in bytes.
    private static let capacity = ProcessMemory.cacheSize(atMost: 64 << 20)

    /// A response, and the data that it was rendered from.
    private struct Entry: Sendable {
        let scope: AppScope
        let keys: CustomerIdentifiers
        let records: Records
        let answer: ResponseTemplate
        /// See ``VerifyReceiptResult/consumables``.
        let consumables: ConsumableIdentifiers
    }

    /// The records that a response was rendered from, by their number.
    private enum Records: Sendable {
        /// See ``StoredCustomerSnapshot/serial``. The age is the app's `storedMaxAge`.
        case stored(UInt64, maximumAge: Duration)
        /// See ``CachedRecords/serial``.
        case lookedUp(UInt64)
    }

    private let entries = GenerationalCache<[UInt8], Entry>(limit: capacity)
    private let earlier = EarlierRequests()
    /// `nil` if there is no store.
    private let stored: StoreSource?
    /// `nil` if there are no network connections.
    private let serverAPI: ServerAPISource?
    private let coverage: NotificationCoverage

    /// Creates an empty cache; `nil` if no app's first source is one of the two, or if it cannot be used: without a
    /// store, without a key of the Server API, or with `cacheSeconds: 0`.
    init?(_ components: ServiceComponents) {
        (stored, serverAPI, coverage) = (components.stored, components.serverAPI, components.coverage)
        let canBeCached = components.apps.contains { app in
            switch app.answer.first {
            case .stored: components.stored != nil
            case .api: app.serverAPI != nil && app.cacheSeconds > 0
            default: false
            }
        }
        guard canBeCached else { return nil }
    }

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

    /// Removes every response.
    func removeAll() { entries.removeAll() }

    /// Returns the cached response to the same request. Returns `nil` if no response is cached, or if the customer's
    /// records have changed or expired since it was cached.
    ///
    /// - Parameter limit: timeout of the read from the store.
    func response(for key: [UInt8], at now: Timestamp, within limit: Duration) async -> VerifyReceiptResult? {
        guard let entry = entries[key], let source = await validSource(of: entry, at: now, within: limit),
            let answer = entry.answer.answer(requestDate: now)
        else { return nil }
        var reply = VerifyReceiptResult(answer, source: source, environment: entry.scope.environment)
        (reply.authenticApp, reply.claimedApp) = (entry.scope.bundleId, entry.scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// Returns the source of a response whose records are still valid; `nil` if they are not.
    private func validSource(
        of entry: Entry, at now: Timestamp, within limit: Duration
    ) async -> AnswerSource? {
        switch entry.records {
        case .lookedUp(let serial):
            return serverAPI?.isCached(serial, for: entry.keys, in: entry.scope) == true ? .api : nil
        case .stored(let serial, let maximumAge):
            guard
                let snapshot = await stored?.snapshot(of: entry.keys, in: entry.scope, at: now, within: limit),
                snapshot.serial == serial,
                snapshot.freshness.isCurrent(
                    at: now, maximumAge: maximumAge, canAsk: serverAPI?.handles(entry.scope.bundleId) == true,
                    completeSince: coverage.completeSince)
            else { return nil }
            return .stored
        }
    }

    /// Caches a response in which only `request_date` depends on the time. Two kinds are never cached: an iOS 6
    /// response, because it has no such date and its status may change with time alone; and the response to a receipt
    /// without identifiers, because those that Apple once returned for it may change.
    func observe(_ response: SourceResponse, to request: ResolvedRequest) {
        guard let cacheKey = request.cacheKey, let receipt = request.authenticReceipt,
            let records = records(of: response, to: request)
        else { return }
        let keys = receipt.contents.lookupKeys
        guard !keys.isEmpty, let answer = ResponseTemplate(response.result.answer, requestDate: request.now)
        else { return }
        let consumables = response.result.consumables
        entries.insert(
            Entry(
                scope: AppScope(of: receipt), keys: keys, records: records, answer: answer, consumables: consumables),
            for: cacheKey, cost: answer.size + 1_024 + consumables.all.count * 64)
    }

    /// Returns the number of the records that a response of the app's first source was rendered from; `nil` if they are
    /// not cached themselves.
    private func records(of response: SourceResponse, to request: ResolvedRequest) -> Records? {
        switch (response.origin, request.app.answer.first) {
        case (.current(let snapshot), .stored):
            snapshot.serial.map { .stored($0, maximumAge: .seconds(request.app.storedMaxAge)) }
        case (.lookedUp(let cached), .api): cached.serial.map { .lookedUp($0) }
        default: nil
        }
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
