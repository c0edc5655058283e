import BridgeConfiguration
import Responses
import ReceiptDecoding
import Storage
import AppStoreTypes

/// The cached responses of the source `stored`: which requests the cache answers, and which responses are added to it.
struct CachedResponses: ResponseObserver {
    let cache: ResponseCache
    let customers: StoreSource

    /// Creates an empty cache; `nil` if no app names `stored` first, or if there is no store.
    init?(_ components: ServiceComponents) {
        guard let stored = components.stored, components.apps.contains(where: { $0.answer.first == .stored }) else {
            return nil
        }
        (cache, customers) = (ResponseCache(), stored)
    }

    /// Returns the cached response to the same request; `nil` if there is none, or if the store's records of the
    /// customer have changed or expired since.
    ///
    /// - Parameter limit: timeout of the read from the store.
    func response(for key: [UInt8], at now: Timestamp, within limit: Duration) async -> VerifyReceiptResult? {
        guard let entry = cache[key] else { return nil }
        guard
            let snapshot = await customers.snapshot(of: entry.keys, in: entry.scope, at: now, within: limit),
            snapshot.serial == entry.serial,
            snapshot.isCurrent(at: now, maximumAge: entry.app.storedMaxAge * 1_000),
            let answer = entry.answer.answer(requestDate: now)
        else { return nil }
        var reply = VerifyReceiptResult(answer, source: .stored, environment: entry.scope.environment)
        (reply.authenticApp, reply.claimedApp) = (entry.scope.bundleId, entry.scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// Caches a response in which only `request_date` depends on the time. Two kinds are never cached: an iOS 6
    /// response, because it has no such date and its status may change with time alone, and the response to a receipt
    /// without identifiers, because those that Apple once returned for it may change.
    func observe(_ response: SourceResponse, to request: ResolvedRequest) {
        guard case .current(let snapshot) = response.origin, let cacheKey = request.cacheKey,
            let receipt = request.authenticReceipt
        else { return }
        let keys = receipt.contents.lookupKeys
        guard let serial = snapshot.serial, request.app.answer.first == .stored, !keys.isEmpty,
            let answer = ResponseTemplate(response.result.answer, requestDate: request.now)
        else { return }
        cache.insert(
            .init(
                app: request.app, scope: AppScope(of: receipt), keys: keys, serial: serial, answer: answer,
                consumables: response.result.consumables), for: cacheKey)
    }
}
