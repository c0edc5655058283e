package import ReceiptBridgeBase

/// A request for one event, and for the customer, subscription or transaction it should happen to.
///
/// If the request names none, the event happens to any customer whose state allows it.
package struct EventRequest: Sendable, Hashable {
    package var event: WorldEvent
    package var customerId: String?
    package var transactionId: String?
    package var originalTransactionId: String?
    package var environment: AppStoreEnvironment?

    package init(
        _ event: WorldEvent, customerId: String? = nil, transactionId: String? = nil,
        originalTransactionId: String? = nil, environment: AppStoreEnvironment? = nil
    ) {
        (self.event, self.customerId, self.transactionId) = (event, customerId, transactionId)
        (self.originalTransactionId, self.environment) = (originalTransactionId, environment)
    }

    /// Returns whether the request allows this subject. A transaction id also identifies its subscription.
    func matches(_ subject: EventSubject, of customer: SimulatedCustomer) -> Bool {
        let named = transactionId.flatMap(customer.transaction)
        switch subject {
        case .customer: return true
        case .subscription(let index):
            let original = customer.renewals[index].originalTransactionId
            return (originalTransactionId ?? original) == original
                && (named.map { $0.originalTransactionId == original } ?? true)
        case .transaction(let index):
            let transaction = customer.transactions[index]
            return (originalTransactionId ?? transaction.originalTransactionId) == transaction.originalTransactionId
                && (named.map { $0.transactionId == transaction.transactionId } ?? true)
        }
    }
}

/// The result of an event: the customer before and after it, and the notifications about it.
package struct EventOutcome: Sendable {
    /// `nil` if the app's owner made the change through the Server API.
    package let event: WorldEvent?
    /// `nil` if the notifications are not about one customer.
    package let before, after: SimulatedCustomer?
    package let notifications: [SimulatedNotification]

    var silent: EventOutcome { EventOutcome(event: event, before: before, after: after, notifications: []) }

    /// An element of the response to `POST /events`: `{"event", "customer", "environment", "notifications":
    /// [{"notificationUUID", "notificationType", "subtype", "transactionId", "originalTransactionId",
    /// "signedDate"}]}`.
    var document: JSONValue {
        JSONValue([
            "event": event?.rawValue, "customer": after?.id, "environment": after?.environment.rawValue,
            "notifications": notifications.map { notification in
                JSONValue([
                    "notificationUUID": notification.uuid, "notificationType": notification.type,
                    "subtype": notification.subtype, "transactionId": notification.transaction?.transactionId,
                    "originalTransactionId": notification.transaction?.originalTransactionId,
                    "signedDate": notification.date.milliseconds,
                ])
            },
        ])
    }
}

package enum EventFailure: Error, Sendable, Hashable {
    /// There is no such customer or transaction. The response is 404.
    case unknown
    /// The state of the customer, subscription or transaction does not allow the event. The response is 409.
    case impossible
}
