import Base
import BridgeConfiguration
import ReceiptDecoding
import Responses
import Storage

/// The cached responses of the sources `stored` and `api`: which requests the cache answers, and which responses are
/// added to it.
struct CachedResponses: ResponseObserver {
    let cache = ResponseCache()
    /// `nil` if there is no store.
    let stored: StoreSource?
    /// `nil` if there are no network connections.
    let serverAPI: ServerAPISource?

    /// Creates an empty cache; `nil` if no app's first source is one of the two, or if it cannot be used: without a
    /// store, without a key of the Server API, or with `cacheSeconds: 0`.
    init?(_ components: ServiceComponents) {
        (stored, serverAPI) = (components.stored, components.serverAPI)
        let canBeCached = components.apps.contains { app in
            switch app.answer.first {
            case .stored: components.stored != nil
            case .api: app.serverAPI != nil && app.cacheSeconds > 0
            default: false
            }
        }
        guard canBeCached else { return nil }
    }

    /// Returns the cached response to the same request. Returns `nil` if no response is cached, or if the customer's
    /// records have changed or expired since it was cached.
    ///
    /// - Parameter limit: timeout of the read from the store.
    func response(for key: [UInt8], at now: Timestamp, within limit: Duration) async -> VerifyReceiptResult? {
        guard let entry = cache[key], let source = await validSource(of: entry, at: now, within: limit),
            let answer = entry.answer.answer(requestDate: now)
        else { return nil }
        var reply = VerifyReceiptResult(answer, source: source, environment: entry.scope.environment)
        (reply.authenticApp, reply.claimedApp) = (entry.scope.bundleId, entry.scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// Returns the source of a response whose records are still valid; `nil` if they are not.
    private func validSource(
        of entry: ResponseCache.Entry, at now: Timestamp, within limit: Duration
    ) async -> AnswerSource? {
        switch entry.records {
        case .lookedUp(let serial):
            return serverAPI?.isCached(serial, for: entry.keys, in: entry.scope) == true ? .api : nil
        case .stored(let serial, let maximumAge):
            guard
                let snapshot = await stored?.snapshot(of: entry.keys, in: entry.scope, at: now, within: limit),
                snapshot.serial == serial,
                snapshot.isCurrent(at: now, maximumAge: maximumAge)
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
        cache.insert(
            .init(
                scope: AppScope(of: receipt), keys: keys, records: records, answer: answer,
                consumables: response.result.consumables), for: cacheKey)
    }

    /// Returns the number of the records that a response of the app's first source was rendered from; `nil` if they are
    /// not cached themselves.
    private func records(of response: SourceResponse, to request: ResolvedRequest) -> ResponseCache.Records? {
        switch (response.origin, request.app.answer.first) {
        case (.current(let snapshot), .stored):
            snapshot.serial.map { .stored($0, maximumAge: .seconds(request.app.storedMaxAge)) }
        case (.lookedUp(let cached), .api): cached.serial.map { .lookedUp($0) }
        default: nil
        }
    }
}
