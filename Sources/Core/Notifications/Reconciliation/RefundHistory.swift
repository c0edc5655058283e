package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The refund history of one customer: read from the App Store, then stored.
package struct RefundHistory: Sendable {
    let refunds: [Signed<TransactionPayload>]
    private let target: RefundTarget

    /// `nil` if the App Store does not know the customer, or no longer.
    package init?(
        of target: RefundTarget, from client: ServerAPIClient, _ options: CallOptions
    ) async throws(UpstreamError) {
        do throws(UpstreamError) {
            refunds = try await client.refunds(target.identifier, in: target.scope.environment, options).transactions
        } catch {
            guard error.isAnswer else { throw error }
            return nil
        }
        self.target = target
    }

    package var isEmpty: Bool { refunds.isEmpty }

    /// Stores the refunds. Returns the number of those that were not known; `nil` if the customer, who comes from the
    /// store, was erased in the meantime.
    package func save(
        to store: any RefundStore, at now: Timestamp, source: EventSource, reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Int? {
        try await store.save(
            refunds.compactMap { RefundRow($0) }, in: target.scope, at: now, source: source,
            ifRecorded: target.isStored ? target.identifier : nil, reportingTo: targetKeys)
    }
}

extension UpstreamError {
    /// Whether the App Store said that the customer does not exist, or no longer.
    var isAnswer: Bool { isUnknownTransaction || errorNumber == .accountNotFound }
}
