import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// The source `receipt`: the authentic receipt or signed transaction alone, with the refunds that became known since it
/// was issued.
struct ReceiptResponseSource: ResponseSource {
    let revocations: KnownRevocations
    let renderer: VerifyReceiptRenderer

    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome {
        do throws(ResolvedRequest.SourceRefusal) {
            let item = try request.trustedItem(for: .receipt)
            return await read(item, of: request, isFallback: turn.isFallback)
        } catch {
            return error.result
        }
    }

    /// Unavailable if the item may be stale and is only a fallback.
    func read(_ item: AuthenticItem, of request: ResolvedRequest, isFallback: Bool) async -> SourceOutcome {
        let (index, _) = await revocations.revocations(
            of: item.purchaseIdentifiers, in: item.scope, within: request.deadline.reading(before: 0))
        let history = request.history(of: item, revocations: index)
        if isFallback, request.app.staleSubscription == .retry, history.receipt.mayBeStale(at: request.now) {
            return .unavailable(fallback: request.unavailable(from: .receipt))
        }
        return .answered(renderer.response(history, of: item, to: request, from: .receipt))
    }
}

extension VerifyReceiptRenderer {
    /// The item holds no purchase which the Server API could be called for, so it alone is complete.
    func completeAnswer(_ item: AuthenticItem, to request: ResolvedRequest) -> SourceOutcome {
        .answered(response(request.history(of: item), of: item, to: request, from: .receipt))
    }
}

extension ReceiptContents {
    /// Only an iOS 6 receipt can lack one, because its status says whether the subscription is active.
    func lacksStatus(in records: CustomerRecords) -> Bool {
        if case .transaction(let receipt) = self { receipt.lacksStatus(in: records) } else { false }
    }
}
