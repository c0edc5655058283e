import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeResponses
import ReceiptBridgeStorage
import Synchronization

/// A cache of `stored` and `api` responses by request: which requests it answers, and which responses are added to it.
/// For example, if an app posts its receipt four times at launch, the receipt is decoded twice and the response is
/// rendered twice: only a body that was received before is digested and its response cached.
///
/// A response is valid as long as the records that it was rendered from would be used for a new one: the same version
/// of them is at hand, and current for the source. Everything else that the response depends on is part of the request,
/// or of a configuration that is fixed for the lifetime of this cache.
final class ResponseCache: ResponseObserver {
    private struct Entry: Sendable {
        let question: RecordsSource.Question
        let version: UInt64
        let answer: ResponseTemplate
        /// See ``SourcedAnswer/consumables``.
        let consumables: ConsumableIdentifiers
    }

    private let entries = GenerationalCache<[UInt8], Entry>(limit: ProcessMemory.Cache.responses.size())
    private let earlier = EarlierRequests()
    private let records: RecordsSource
    private let serverAPI: ServerAPISource?
    private let counts: ProxyMetrics

    /// Creates an empty cache; `nil` if no app's first source is one of the two, or if it cannot be used: without a
    /// store, without a key of the Server API, or with `cacheSeconds: 0`.
    init?(_ components: ServiceComponents) {
        (records, serverAPI, counts) = (components.records, components.serverAPI, components.counts)
        let canBeCached = components.apps.contains { app in
            switch app.answer.first {
            case .stored: components.records.hasStore
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

    func removeAll() { entries.removeAll() }

    /// `nil` if no response is cached, or if the customer's records have changed or expired since.
    ///
    /// - Parameter limit: timeout of the read from the store.
    func response(for key: [UInt8], at now: Timestamp, within limit: Duration) async -> SourcedAnswer? {
        guard let entry = entries[key],
            await records.current(entry.question, at: now, within: limit)?.version == entry.version
        else { return nil }
        if !entry.question.fromStore { counts.recordCache.add(HitLabel.hit) }
        guard let answer = entry.answer.answer(requestDate: now) else { return nil }
        let scope = entry.question.scope
        var reply = SourcedAnswer(
            answer, source: entry.question.fromStore ? .stored : .api, environment: scope.environment)
        (reply.authenticApp, reply.claimedApp) = (scope.bundleId, scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// Caches a response in which only `request_date` depends on the time. Two kinds are never cached: an iOS 6
    /// response, because it has no such date and its status may change with time alone; and the response to a receipt
    /// without identifiers, because those that Apple once returned for it may change.
    func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
        guard let cacheKey = request.cacheKey, let receipt = request.authenticReceipt,
            case .records(let version) = response.origin,
            let question = question(of: receipt, in: request, answeredBy: response.source),
            let answer = ResponseTemplate(response.answer, requestDate: request.now)
        else { return }
        let consumables = response.consumables
        entries.insert(
            Entry(question: question, version: version, answer: answer, consumables: consumables),
            for: cacheKey, cost: answer.size + 1_024 + consumables.all.count * 64)
    }

    /// `nil` if another source answered, or if the question of the app's first source has no answer at hand.
    private func question(
        of receipt: Receipt, in request: ResolvedRequest, answeredBy source: AnswerSource
    ) -> RecordsSource.Question? {
        let (app, keys) = (request.app, receipt.contents.lookupKeys)
        guard app.answer.first == source, source == .stored || app.cacheSeconds > 0, !keys.isEmpty else { return nil }
        return RecordsSource.Question(
            keys: keys, scope: AppScope(of: receipt),
            maximumAge: .seconds(source == .stored ? app.storedMaxAge : app.cacheSeconds),
            fromStore: source == .stored, canAsk: serverAPI?.handles(receipt.bundleId) == true)
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
