import AppStore
package import Ledger
package import StoreTypes

/// Until when Apple wants to hear of a purchase: 12 hours after it asked.
///
/// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
package struct ConsumptionDeadline: Sendable, Hashable {
    /// In milliseconds.
    private static let timeout: Int64 = 12 * 3_600_000

    /// When Apple asked.
    package let asked: Timestamp

    package init(asked: Timestamp) { self.asked = asked }

    /// Of the latest request about a transaction that is held; nil where none is.
    package init?(
        of id: TransactionIdentifier, in scope: AppScope, held store: Store
    ) async throws(StorageError) {
        let text = try await store.transaction(id, in: scope)
        let first = text.flatMap { Signed<TransactionPayload>(storedText: $0)?.payload.originalTransactionId }
        let requests = try await store.notifications(
            "CONSUMPTION_REQUEST", about: first ?? id.rawValue, in: scope)
        for request in requests {
            guard let payload = Signed<NotificationPayload>(storedText: request.text)?.payload,
                let inner = payload.data?.signedTransactionInfo,
                Signed<TransactionPayload>(storedText: inner)?.payload.transactionId == id.rawValue
            else { continue }
            asked = payload.signedDate ?? request.receivedAt
            return
        }
        return nil
    }

    package func check(at now: Timestamp) throws(InvalidOperation) {
        let end = asked.advanced(byMilliseconds: Self.timeout)
        guard now > end else { return }
        throw InvalidOperation(
            "Apple asked at \(asked.instantText) and waited until \(end.instantText)", hint: "--late sends it anyway")
    }
}
