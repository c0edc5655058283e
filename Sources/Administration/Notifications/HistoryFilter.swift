package import ReceiptBridgeAppStore
package import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// A filter for the notification history: by customer, by type or only failed deliveries.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryrequest
package struct HistoryFilter: Sendable, Hashable {
    private let type: String?
    private let subtype: String?
    package let transactionId: TransactionIdentifier?
    private let onlyFailures: Bool

    /// - Throws: ``InvalidOperation`` if options cannot be combined: Apple filters by type or by transaction id, not
    ///   both.
    package init(
        type: String? = nil, subtype: String? = nil, transactionId: String? = nil, onlyFailures: Bool = false
    ) throws(InvalidOperation) {
        guard subtype == nil || type != nil else { throw InvalidOperation("--subtype needs --type") }
        guard type == nil || transactionId == nil else {
            throw InvalidOperation("--type and --transaction-id cannot be combined")
        }
        if let type, let sentence = NotificationType.misspelling(type) {
            throw InvalidOperation("--type: \(sentence)")
        }
        self.type = type
        self.subtype = subtype
        self.onlyFailures = onlyFailures
        self.transactionId = try transactionId.map { text throws(InvalidOperation) in
            guard let id = TransactionIdentifier(rawValue: text) else {
                throw InvalidOperation("--transaction-id: 1 to 20 digits, not all of them 0")
            }
            return id
        }
    }

    package func query(_ window: HistoryWindows.Window) -> NotificationQuery {
        var query = NotificationQuery(startDate: window.start, endDate: window.end)
        query.notificationType = type
        query.notificationSubtype = subtype
        query.transactionId = transactionId
        query.onlyFailures = onlyFailures ? true : nil
        return query
    }

    /// A text that is equal for equal filters.
    package var name: String {
        [type, subtype, transactionId?.rawValue, onlyFailures ? "failures" : nil].map { $0 ?? "-" }
            .joined(separator: " ")
    }
}
