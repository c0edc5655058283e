package import Base

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
        self.event = event
        self.customerId = customerId
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.environment = environment
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
