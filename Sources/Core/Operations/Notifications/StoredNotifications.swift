import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Reads stored notifications, for people who look into a case.
package struct StoredNotifications: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    /// Returns a notification; `nil` if the store has none with this UUID. UUIDs of Apple's are compared in any case.
    package func notification(_ uuid: String) async throws(StorageError) -> StoredNotification? {
        if let found = try await store.notifications.notification(uuid) { return found }
        let lowercase = uuid.lowercased()
        return lowercase == uuid ? nil : try await store.notifications.notification(lowercase)
    }

    package func view(_ uuid: String) async throws(StorageError) -> [UInt8]? {
        guard let stored = try await notification(uuid) else { return nil }
        let filter = ConsumptionCaseFilter(
            receivedSince: stored.summary.receivedAt, uuid: stored.summary.uuid)
        let isRequest = stored.summary.type == "CONSUMPTION_REQUEST"
        let found = isRequest ? try await store.consumption.consumptionCases(filter, after: 0, limit: 1).first : nil
        return NotificationView.json(stored, found)
    }

    /// Returns the original transaction ids of the customer with a transaction, as the store knows it: those of the
    /// whole history, or that of the transaction.
    package func purchases(of id: TransactionIdentifier, in scope: AppScope) async throws(StorageError) -> [String] {
        var purchases: Set<String> = [id.rawValue]
        func insert(_ text: String) {
            if let original = Signed<TransactionPayload>(storedText: text)?.payload.originalTransactionId {
                purchases.insert(original)
            }
        }
        if let text = try await store.customers.transaction(id, in: scope) { insert(text) }
        for original in purchases {
            let keys = CustomerIdentifiers(originalTransactionIds: [original], transactionIds: [])
            let customer = try await store.customers.customer(of: keys, in: scope)
            for text in customer?.transactions ?? [] { insert(text) }
        }
        return purchases.sorted()
    }
}

extension AppOperations {
    private static let maximumUUID = 128

    /// Returns a stored notification: `GET /v1/notifications/{uuid}`.
    package func notification(_ uuid: String) async throws(OperationError) -> [UInt8] {
        let store = try requiredStore()
        let view = try await converting {
            uuid.utf8.count <= Self.maximumUUID ? try await StoredNotifications(store: store).view(uuid) : nil
        }
        guard let view else { throw OperationError(.notificationNotFound, "the store has no such notification") }
        return view
    }
}
