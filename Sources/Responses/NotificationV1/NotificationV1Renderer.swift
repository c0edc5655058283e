package import AppStorePayloads
package import Base

/// The data from which the body of a version 1 notification is written.
package struct NotificationV1: Sendable {
    package var type: NotificationV1Type
    package var bundleId: String
    package var environment: AppStoreEnvironment
    /// The app's version at the time of the event.
    package var bundleVersion: String?
    /// The consumer's shared secret.
    package var password: SharedSecret?
    /// The transaction of the event.
    package var transaction: TransactionPayload?
    /// The renewal of the event.
    package var renewal: RenewalPayload?
    /// The renewal state to write instead of the one in the renewal record.
    package var renews: Bool?
    /// When the customer last turned the renewal on or off; `nil` if this is unknown.
    package var statusChangedAt: Timestamp?
    /// All transactions of the customer, including the transaction of the event.
    package var transactions: [TransactionPayload]
    /// The renewal of each subscription, in the order of Apple's status response.
    package var renewals: [RenewalPayload]

    /// The `latest_receipt` of `unified_receipt`: a handle; `nil` if the consumer gets none.
    package var handle: Redacted<String>?
    /// Whether `expiration_intent` is a number instead of a text.
    package var writesNumbers = false

    package init(
        type: NotificationV1Type, bundleId: String, environment: AppStoreEnvironment,
        transactions: [TransactionPayload] = [], renewals: [RenewalPayload] = []
    ) {
        self.type = type
        self.bundleId = bundleId
        self.environment = environment
        self.transactions = transactions
        self.renewals = renewals
    }
}

/// Writes the bodies of version 1 notifications, in the form that the App Store used from March 2021 on.
///
/// ```
/// { "notification_type", "password", "environment": "PROD" | "Sandbox", "bid", "bvrs",
///   "auto_renew_product_id", "auto_renew_status": "true" | "false", "auto_renew_status_change_date" ×3,
///   "expiration_intent": "1"…"5", "original_transaction_id": 123,
///   "unified_receipt": { "status": 0, "environment": "Production" | "Sandbox", "latest_receipt": handle,
///                        "latest_receipt_info": […], "pending_renewal_info": […] } }
/// ```
///
/// Both lists are always present, because consumers demand them. Two keys are never written: `auto_renew_adam_id`,
/// because nothing signed contains it, and `deprecation`. `latest_receipt` is a handle, because no receipts are stored.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
package struct NotificationV1Renderer: Sendable {
    private static let statusChange = ColumnKey(wire: "auto_renew_status_change_date", conversion: .dateTriplet)

    private let tables: FieldTables

    package init(tables: FieldTables) {
        self.tables = tables
    }

    /// Returns the JSON text.
    package func render(_ notification: NotificationV1) -> [UInt8] {
        let rows = NotificationV1Receipt.rows(of: notification.transactions, about: notification.transaction)
        var writer = JSONWriter(reserving: 1_024 + rows.count * 1_200 + notification.renewals.count * 600)
        writer.beginObject()
        writer.key("notification_type")
        writer.value(notification.type.rawValue)
        if let password = notification.password {
            writer.key("password")
            writer.value(password.reveal())
        }
        writer.key("environment")
        writer.value(notification.environment == .production ? "PROD" : notification.environment.rawValue)
        writer.key("bid")
        writer.value(notification.bundleId)
        if let version = notification.bundleVersion {
            writer.key("bvrs")
            writer.value(version)
        }
        write(notification.renewal, of: notification, into: &writer)
        if let identifier = notification.transaction?.originalTransactionId
            ?? notification.renewal?.originalTransactionId, let number = Self.number(identifier)
        {
            writer.key("original_transaction_id")
            writer.values(json: number)
        }
        writer.key("unified_receipt")
        writer.beginObject()
        writer.key("status")
        writer.value(0)
        writer.key("environment")
        writer.value(notification.environment.rawValue)
        if let handle = notification.handle {
            writer.key("latest_receipt")
            writer.value(handle.reveal())
        }
        writer.key("latest_receipt_info")
        writer.beginArray()
        for row in rows {
            writer.beginObject()
            for column in tables.transaction.columns { writer.member(column.field.value(of: row), as: column) }
            writer.endObject()
        }
        writer.endArray()
        writer.key("pending_renewal_info")
        writer.beginArray()
        for renewal in notification.renewals {
            writer.beginObject()
            for column in tables.renewal.columns { writer.member(column.field.value(of: renewal), as: column) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }

    /// Writes the renewal of the event at the top level.
    private func write(
        _ renewal: RenewalPayload?, of notification: NotificationV1, into writer: inout JSONWriter
    ) {
        guard let renewal else { return }
        if let product = renewal.autoRenewProductId ?? renewal.productId {
            writer.key("auto_renew_product_id")
            writer.value(product)
        }
        if let renews = notification.renews ?? renewal.autoRenewStatus.map({ $0 != 0 }) {
            writer.key("auto_renew_status")
            writer.value(renews ? "true" : "false")
        }
        if let date = notification.statusChangedAt {
            Self.statusChange.withPieces { writer.triplet(date, key: $0) }
        }
        if let intent = renewal.expirationIntent {
            writer.key("expiration_intent")
            if notification.writesNumbers { writer.value(intent) } else { writer.value("\(intent)") }
        }
    }

    /// Returns a JSON number of any length, because ids are larger than what a `Double` can represent exactly.
    private static func number(_ identifier: String) -> [UInt8]? {
        guard let digits = TransactionIdentifier(rawValue: identifier)?.rawValue else { return nil }
        return Array(digits.drop { $0 == "0" }.utf8)
    }
}
