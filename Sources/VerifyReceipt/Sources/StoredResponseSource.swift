import AppStorePayloads
import Base
import BridgeConfiguration
import ReceiptDecoding
import Responses
import Storage

/// The source `stored`: renders a response from the stored records of the customer, as if the Server API had just
/// returned them.
///
/// If `stored` comes before the sources that call Apple, only records that are as good as a call are used: no older
/// than the app's `storedMaxAge`. If it comes after them, older records are used as well, if they cannot be stale.
struct StoredResponseSource: ResponseSource {
    /// `nil` if there is no store.
    let customers: StoreSource?
    let observations: UpstreamObservations
    let renderer: VerifyReceiptRenderer

    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceResult {
        let limit = request.deadline.reading(before: turn.laterCalls)
        let item: AuthenticItem
        do throws(ResolvedRequest.Refusal) {
            item = try request.trustedItem(for: .stored)
        } catch {
            return error.result
        }
        let keys = await observations.lookupKeys(of: item, within: limit)
        guard !keys.isEmpty else { return renderer.completeAnswer(item, to: request) }
        guard
            let snapshot = await customers?.snapshot(
                of: keys, in: item.scope, at: request.now, within: limit),
            !item.lacksStatus(in: snapshot.records),
            isUsable(snapshot, for: request, isFallback: turn.isFallback)
        else { return .notAttempted }
        let history = request.history(of: item, records: snapshot.records)
        return .answered(
            renderer.response(
                history, of: item, to: request, from: .stored,
                origin: turn.isFallback ? .rendered : .current(snapshot)))
    }

    /// Returns whether the records are as good as a call, or good enough for a fallback.
    private func isUsable(
        _ snapshot: StoredCustomerSnapshot, for request: ResolvedRequest, isFallback: Bool
    ) -> Bool {
        let app = request.app
        let isLastGood = isFallback && (app.staleSubscription == .answer || !snapshot.mayBeStale(at: request.now))
        return isLastGood || snapshot.isCurrent(at: request.now, maximumAge: .seconds(app.storedMaxAge))
    }
}
