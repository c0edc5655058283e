package import ReceiptBridgeBase

/// The changes to a customer's records that a notification reports.
package struct NotificationUpdate: Sendable {
    package var transaction: TransactionRow?
    package var renewal: RenewalRow?
    package var status: StatusRow?
    /// `true` if the notification does not describe the change completely, so that a lookup is needed.
    package var needsLookup = false

    package init(
        transaction: TransactionRow? = nil, renewal: RenewalRow? = nil, status: StatusRow? = nil,
        needsLookup: Bool = false
    ) {
        (self.transaction, self.renewal, self.status, self.needsLookup) = (transaction, renewal, status, needsLookup)
    }
}

/// Result of storing a notification.
package enum NotificationOutcome: Sendable, Hashable {
    /// The notification is on disk. `isNew`: its transaction is the most recently signed one of that purchase.
    case stored(isNew: Bool)
    /// A duplicate: the notification was already stored. Nothing was changed.
    case repeated
}

extension NotificationUpdate {
    package var originalTransactionId: String? {
        transaction?.originalTransactionId ?? renewal?.originalTransactionId ?? status?.originalTransactionId
    }
}

/// An earlier notification about the same purchase.
package struct PreviousNotification: Sendable, Hashable {
    package let type: String?
    package let signedDate: Timestamp?
    /// The compact JWS.
    package let text: String
}

extension NotificationRow {
    /// When the notification was signed, by the App Store's clock. Without that date, when it was received.
    package var clock: Timestamp { signedDate ?? receivedAt }

    /// Maximum number of transaction ids that are stored of a version 1 notification.
    package static let maximumIdentifiers = 16

    /// A version 1 notification: type and ids are the only parts of the body that are stored.
    ///
    /// - Parameter uuid: a digest of the body, to recognize duplicates.
    package init(hint uuid: String, type: String?, naming identifiers: [TransactionIdentifier], receivedAt: Timestamp) {
        var distinct: [String] = []
        for identifier in identifiers.map(\.rawValue) where !distinct.contains(identifier) {
            distinct.append(identifier)
        }
        self.init(
            uuid: uuid, version: 1, type: type, subtype: nil, signedDate: nil, receivedAt: receivedAt,
            text: distinct.prefix(Self.maximumIdentifiers).joined(separator: " "))
    }
}
