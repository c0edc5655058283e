import StoreTypes

/// What an event did: the customer before and after it, and what there is to tell of it.
package struct EventOutcome: Sendable {
    /// Nil for what the app's owner did through the Server API.
    package let event: WorldEvent?
    /// Nil for what is about no single customer.
    package let before, after: SimulatedCustomer?
    package let notifications: [SimulatedNotification]

    /// An element of the answer to `POST /events`:
    /// `{"event", "customer", "environment", "notifications": [{"notificationUUID", "notificationType", "subtype",
    /// "transactionId", "originalTransactionId", "signedDate"}]}`.
    var document: JSONValue {
        .object([
            "event": (event?.rawValue).map(JSONValue.string), "customer": (after?.id).map(JSONValue.string),
            "environment": (after?.environment.rawValue).map(JSONValue.string),
            "notifications": .array(
                notifications.map { notification in
                    .object([
                        "notificationUUID": .string(notification.uuid),
                        "notificationType": .string(notification.type),
                        "subtype": notification.subtype.map(JSONValue.string),
                        "transactionId": (notification.transaction?.transactionId).map(JSONValue.string),
                        "originalTransactionId":
                            (notification.transaction?.originalTransactionId).map(JSONValue.string),
                        "signedDate": .number(notification.date.milliseconds),
                    ])
                }),
        ])
    }
}

/// Why an event that was asked for did not happen.
package enum EventFailure: Error, Sendable, Hashable {
    /// There is no such customer or transaction.
    case unknown
    /// The customer, or the named subscription or transaction, is in no state for it.
    case impossible
}
