import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Brings the cases of a purchase up to date. For one purchase there can be several, because Apple repeats a
/// CONSUMPTION_REQUEST with a new `notificationUUID` (https://developer.apple.com/forums/thread/756151).
///
/// - An answer closes all requests of the same transaction that Apple signed before it.
/// - The last REFUND, REFUND_DECLINED or REFUND_REVERSED of the transaction that was signed after a request decides it.
package struct PurchaseCases: Sendable {
    private static let request = "CONSUMPTION_REQUEST"
    private static let decisions: KeyValuePairs<String, RefundDecision> = [
        "REFUND": .refunded, "REFUND_DECLINED": .notRefunded, "REFUND_REVERSED": .notRefunded,
    ]
    /// Maximum number of passes. A pass repeats the work if another server changed a case at the same time.
    private static let maximumPasses = 8

    private let store: any Store
    private let counts: ProxyMetrics?

    package init(_ store: any Store, counts: ProxyMetrics? = nil) {
        self.store = store
        self.counts = counts
    }

    package static func areChanged(by type: String?) -> Bool {
        type == request || decisions.contains { $0.key == type }
    }

    package func update(
        _ originalTransactionId: String, in scope: AppScope, at now: Timestamp
    ) async throws(StorageError) {
        for _ in 0..<Self.maximumPasses {
            let cases = try await store.consumption.consumptionCases(about: originalTransactionId, in: scope)
            guard !cases.isEmpty else { return }
            let reports = try await reports(about: originalTransactionId, in: scope)
            var isChanged = false
            for found in cases {
                guard let id = found.transactionId else { continue }
                if found.answeredAt == nil,
                    let answer = cases.filter({ $0.answers(id, requestedAt: found.requestedAt) })
                        .compactMap(\.answeredAt).min()
                {
                    try await store.consumption.markAnswered(found.uuid, at: answer)
                    isChanged = true
                }
                let report = reports.filter { $0.id == id && $0.date >= found.requestedAt }.max { $0.date < $1.date }
                guard let decision = report?.decision, decision != found.decision else { continue }
                try await store.consumption.settle(found.id, as: decision, replacing: found.decision, at: now)
                counts?[scope.bundleId].refundDecisions.add(decision)
                isChanged = true
            }
            guard isChanged else { return }
        }
    }

    private func reports(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(id: TransactionIdentifier, date: Timestamp, decision: RefundDecision)] {
        var reports: [(TransactionIdentifier, Timestamp, RefundDecision)] = []
        for (type, decision) in Self.decisions {
            let found = try await store.notifications.notifications(type, about: originalTransactionId, in: scope)
            for (text, receivedAt) in found {
                guard let payload = Signed<NotificationPayload>(storedText: text)?.payload,
                    let id = payload.transactionId
                else { continue }
                reports.append((id, payload.signedDate ?? receivedAt, decision))
            }
        }
        return reports
    }
}

extension ConsumptionCase {
    /// The transaction that Apple asks about; `nil` if the notification cannot be read.
    package var transactionId: TransactionIdentifier? {
        Signed<NotificationPayload>(storedText: text)?.payload.transactionId
    }

    package func isOpen(at now: Timestamp) -> Bool {
        answeredAt == nil && settledAt == nil && now <= ConsumptionDeadline(requestedAt: requestedAt).end
    }

    /// Returns whether this case was answered after a request about a transaction.
    fileprivate func answers(_ id: TransactionIdentifier, requestedAt time: Timestamp) -> Bool {
        guard let answeredAt else { return false }
        // This machine's clock may be behind Apple's.
        return time <= max(answeredAt, requestedAt) && transactionId == id
    }
}

extension NotificationPayload {
    fileprivate var transactionId: TransactionIdentifier? {
        data?.signedTransactionInfo.flatMap { Signed<TransactionPayload>(storedText: $0)?.payload.transactionId }
            .flatMap(TransactionIdentifier.init(rawValue:))
    }
}
