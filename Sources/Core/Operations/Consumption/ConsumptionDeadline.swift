import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The deadline for consumption information: 12 hours after Apple's request.
///
/// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
package struct ConsumptionDeadline: Sendable, Hashable {
    private static let timeout = Duration.hours(12)

    package let requestedAt: Timestamp
    /// The `notificationUUID` of Apple's request; `nil` if it is not known.
    package private(set) var uuid: String?
    package private(set) var originalTransactionId: String?

    package init(requestedAt: Timestamp) { self.requestedAt = requestedAt }

    /// Returns the time of the oldest request that Apple still waits for.
    package static func oldestOpen(at now: Timestamp) -> Timestamp { now.advanced(by: .zero - timeout) }

    package var end: Timestamp { requestedAt.advanced(by: Self.timeout) }

    /// Finds the latest stored CONSUMPTION_REQUEST for the transaction; `nil` if there is none.
    package init?(
        of id: TransactionIdentifier, in scope: AppScope, store: any Store
    ) async throws(StorageError) {
        let text = try await store.customers.transaction(id, in: scope)
        let first = text.flatMap { Signed<TransactionPayload>(storedText: $0)?.payload.originalTransactionId }
        let requests = try await store.notifications.notifications(
            "CONSUMPTION_REQUEST", about: first ?? id.rawValue, in: scope)
        for request in requests {
            guard let payload = Signed<NotificationPayload>(storedText: request.text)?.payload,
                let inner = payload.data?.signedTransactionInfo,
                Signed<TransactionPayload>(storedText: inner)?.payload.transactionId == id.rawValue
            else { continue }
            requestedAt = payload.signedDate ?? request.receivedAt
            uuid = payload.notificationUUID
            originalTransactionId = first ?? id.rawValue
            return
        }
        return nil
    }

    /// - Throws: ``InvalidOperation`` if the deadline has passed.
    package func check(at now: Timestamp, naming: InputNaming = .option) throws(InvalidOperation) {
        guard now > end else { return }
        throw InvalidOperation(
            "Apple asked at \(requestedAt.iso8601) and waited until \(end.iso8601)",
            hint: "\(naming.name("late")) sends it anyway", kind: .deadline)
    }
}
