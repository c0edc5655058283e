import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// The source `stored`: renders a response from the stored records of the customer, as if the Server API had just
/// returned them.
///
/// If `stored` comes before the sources that call Apple, only records that are as good as a call are used: no older
/// than the app's `storedMaxAge`. If it comes after them, older records are used as well, if they cannot be stale.
///
/// A denial is confirmed: if the app has a key of the Server API, records that deny something are as good as a call for
/// five seconds only. Then Apple is asked for the statuses, with one call. If those say something else, or if the
/// records are from a time whose notifications may be missing, the customer is looked up. The records answer if Apple
/// does not.
struct StoredResponseSource: ResponseSource {
    let records: RecordsSource
    /// Asked about a denial; `nil` if there are no network connections.
    let serverAPI: ServerAPISource?
    let api: any ResponseSource
    let observations: UpstreamObservations
    let renderer: VerifyReceiptRenderer

    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome {
        let limit = request.deadline.reading(before: turn.laterCalls)
        let item: AuthenticItem
        do throws(ResolvedRequest.SourceRefusal) {
            item = try request.trustedItem(for: .stored)
        } catch {
            return error.result
        }
        let keys = await observations.lookupKeys(of: item, within: limit)
        guard !keys.isEmpty else { return renderer.completeAnswer(item, to: request) }
        guard
            let found = await records.stored(keys, in: item.scope, at: request.now, within: limit),
            !item.lacksStatus(in: found.records)
        else { return .notAttempted }
        let question = RecordsSource.Question(
            keys: keys, scope: item.scope, maximumAge: .seconds(request.app.storedMaxAge), fromStore: true,
            canAsk: !turn.isFallback && serverAPI?.handles(item.bundleId) == true)
        let standing = records.standing(of: found, for: question, at: request.now)
        if standing == .outdated, !turn.isFallback || mayBeStale(found, for: request) { return .notAttempted }
        let history = request.history(of: item, records: found.records)
        let response = renderer.response(
            history, of: item, to: request, from: .stored, origin: turn.isFallback ? .rendered : found.origin)
        switch standing {
        case .current, .outdated: return .answered(response)
        case .doubtful: break
        case .confirmable:
            let confirmed = await serverAPI?.confirmed(
                found, for: keys, in: item.scope, priority: request.options.priority,
                within: request.deadline.share(before: turn.laterCalls))
            if confirmed != nil { return .answered(response) }
        }
        // A source that calls Apple follows. If none of them has a response, this one is used: it is newer than the
        // receipt.
        if turn.laterCalls > 0 { return .requiresUpstream(fallback: response.withoutOrigin) }
        if case .answered(let confirmed) = await api.answer(request, on: turn) { return .answered(confirmed) }
        return .answered(response)
    }

    /// Whether old records are not good enough for a fallback either.
    private func mayBeStale(_ found: DatedRecords, for request: ResolvedRequest) -> Bool {
        request.app.staleSubscription != .answer && found.freshness.mayBeStale(at: request.now)
    }
}
