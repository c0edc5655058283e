package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// The data from which the body of a version 1 notification is written.
package struct NotificationV1: Sendable {
    package var type: NotificationV1Type
    package var bundleId: String
    package var environment: AppStoreEnvironment
    /// The app's version at the time of the event.
    package var bundleVersion: String?
    package var password: SharedSecret?
    package var transaction: TransactionPayload?
    package var renewal: RenewalPayload?
    /// The renewal state to write instead of the one in the renewal record.
    package var renews: Bool?
    /// When the customer last turned the renewal on or off; `nil` if this is unknown.
    package var statusChangedAt: Timestamp?
    /// All transactions of the customer, including the transaction of the event.
    package var transactions: [TransactionPayload]
    /// The renewal of each subscription, in the order of Apple's status response.
    package var renewals: [RenewalPayload]

    /// The `latest_receipt` of `unified_receipt`: base64 of a signed transaction; `nil` if the consumer gets none.
    package var latestReceipt: Redacted<[UInt8]>?
    /// Whether `expiration_intent` is a number instead of a text.
    package var writesNumbers = false

    package init(
        type: NotificationV1Type, bundleId: String, environment: AppStoreEnvironment,
        transactions: [TransactionPayload] = [], renewals: [RenewalPayload] = []
    ) {
        (self.type, self.bundleId, self.environment) = (type, bundleId, environment)
        (self.transactions, self.renewals) = (transactions, renewals)
    }
}

/// Writes the bodies of version 1 notifications, in the form that the App Store used from March 2021 on.
///
/// ```
/// { "notification_type", "password", "environment": "PROD" | "Sandbox", "bid", "bvrs",
///   "auto_renew_product_id", "auto_renew_status": "true" | "false", "auto_renew_status_change_date" ×3,
///   "expiration_intent": "1"…"5", "original_transaction_id": 123,
///   "unified_receipt": { "status": 0, "environment": "Production" | "Sandbox", "latest_receipt": "…",
///                        "latest_receipt_info": […], "pending_renewal_info": […] } }
/// ```
///
/// Both lists are always present, because consumers demand them. Two keys are never written: `auto_renew_adam_id`,
/// because nothing signed contains it, and `deprecation`. No receipts are stored, so `latest_receipt` is a signed
/// transaction.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
package struct NotificationV1Renderer: Sendable {
    private static let statusChange = ColumnKey(wire: "auto_renew_status_change_date", conversion: .dateTriplet)

    private let tables: FieldTables

    package init(tables: FieldTables) { self.tables = tables }

    package func render(_ notification: NotificationV1) -> [UInt8] {
        let rows = NotificationV1Receipt.rows(of: notification.transactions, about: notification.transaction)
        let size = 1_024 + rows.count * 1_200 + notification.renewals.count * 600
        return JSONWriter.object(reserving: size) { writer in
            writer.member("notification_type", notification.type.rawValue)
            writer.member("password", ifPresent: notification.password?.reveal())
            writer.member(
                "environment",
                notification.environment == .production ? "PROD" : notification.environment.rawValue)
            writer.member("bid", notification.bundleId)
            writer.member("bvrs", ifPresent: notification.bundleVersion)
            write(notification.renewal, of: notification, into: &writer)
            let original =
                notification.transaction?.originalTransactionId ?? notification.renewal?.originalTransactionId
            writer.member("original_transaction_id", ifPresent: original.flatMap(Self.number))
            writer.object("unified_receipt") { writer in
                writer.member("status", 0)
                writer.member("environment", notification.environment.rawValue)
                let latestReceipt = notification.latestReceipt.map { String(decoding: $0.reveal(), as: UTF8.self) }
                writer.member("latest_receipt", ifPresent: latestReceipt)
                writer.array("latest_receipt_info", rows) { $0.object($1, tables.transaction) }
                writer.array("pending_renewal_info", notification.renewals) { $0.object($1, tables.renewal) }
            }
        }
    }

    /// Writes the renewal of the event at the top level.
    private func write(_ renewal: RenewalPayload?, of notification: NotificationV1, into writer: inout JSONWriter) {
        guard let renewal else { return }
        writer.member("auto_renew_product_id", ifPresent: renewal.autoRenewProductId ?? renewal.productId)
        if let renews = notification.renews ?? renewal.autoRenewStatus.map({ $0 != 0 }) {
            writer.member("auto_renew_status", renews ? "true" : "false")
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

/// Selects and orders the rows of `latest_receipt_info` in the body of a version 1 notification.
///
/// The rows are the 100 most recent purchases, and always the purchase of the event. A consumable is included only if
/// it is the purchase of the event, because it is unknown which other consumables the app has finished. The row that
/// expires last is the first; rows without an expiry date follow, the most recent first. The row of the event shows
/// its refund even if it is a consumable, which verifyReceipt never did.
enum NotificationV1Receipt {
    /// Returns the rows in the order of the response.
    ///
    /// - Parameter own: the transaction of the event; `nil` if it has none.
    static func rows(of transactions: [TransactionPayload], about own: TransactionPayload?) -> [TransactionPayload] {
        let included = transactions.filter { !$0.isConsumable || isOwn($0, own) }
        let ordered = included.indices.map { LatestRow(included[$0], at: $0) }.sorted(by: >).map { included[$0.index] }
        var newest = Array(ordered.prefix(LatestRows.cap))
        if let excluded = ordered.dropFirst(LatestRows.cap).first(where: { isOwn($0, own) }) {
            newest[newest.count - 1] = excluded
        }
        return newest.enumerated().sorted { left, right in
            let dates = (left.element.expiry, right.element.expiry)
            return dates.0 == dates.1 ? left.offset < right.offset : dates.0 > dates.1
        }.map { isOwn($0.element, own) ? $0.element.showingItsRefund : $0.element }
    }

    private static func isOwn(_ row: TransactionPayload, _ own: TransactionPayload?) -> Bool {
        row.transactionId != nil && row.transactionId == own?.transactionId
    }
}

extension TransactionPayload {
    /// Sorts rows without an expiry date after all others.
    fileprivate var expiry: Int64 { isAutoRenewable ? expiresDate?.milliseconds ?? .min : .min }

    /// The field tables hide the refund of a consumable, so the type is changed to show it.
    fileprivate var showingItsRefund: TransactionPayload {
        guard isConsumable, revocationDate != nil else { return self }
        var row = self
        row.type = ProductType.nonConsumable.rawValue
        return row
    }
}
