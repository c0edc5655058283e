import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// Writes the bodies of version 1 notifications, which have no signature, the shared secret in clear text, and rows
/// as in verifyReceipt responses.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
///
/// The outer members describe the event. `unified_receipt` describes the moment of sending, because developers
/// observed that its `latest_receipt` differs between duplicates (https://developer.apple.com/forums/thread/716641).
extension SimulatedVerifyReceipt {
    /// `nil` if the notification is not about a customer, because version 1 has no such notifications.
    func notificationBody(
        _ notification: SimulatedNotification, as type: NotificationV1Type
    ) throws(CryptographyError) -> JSONValue? {
        guard let transaction = notification.transaction,
            let customer = customerRegistry.find(transaction.transactionId, in: notification.environment)?.customer
        else { return nil }
        let isProduction = notification.environment == .production
        var members = JSONValue.members([
            "notification_type": type.rawValue, "password": SimulatedApp.first.sharedSecret,
            // Only version 1 notifications call production `PROD`.
            "environment": isProduction ? "PROD" : "Sandbox",
            "bid": SimulatedApp.first.bundleId, "bvrs": "42",
        ])
        if let renewal = notification.renewal {
            members += Self.members(of: renewal, isProduction: isProduction)
            if type == .changedStatus {
                members += AnswerRowWriter.dates("auto_renew_status_change_date", notification.date)
            }
        }
        members += JSONValue.members([
            "original_transaction_id": Int64(transaction.originalTransactionId),
            "unified_receipt": try unifiedReceipt(of: customer, about: transaction),
        ])
        return .object(members)
    }

    private static func members(of renewal: SimulatedRenewal, isProduction: Bool) -> [JSONValue.Member] {
        let product = isProduction ? SimulatedProduct.named(renewal.autoRenewProductId) : nil
        return JSONValue.members([
            "auto_renew_product_id": renewal.autoRenewProductId,
            "auto_renew_adam_id": product.map { String($0.itemId) },
            "auto_renew_status": AnswerRowWriter.flag(renewal.willRenew),
            "expiration_intent": renewal.expirationIntent,
        ])
    }

    private func unifiedReceipt(
        of customer: SimulatedCustomer, about transaction: SimulatedTransaction
    ) throws(CryptographyError) -> JSONValue {
        let latest = try latest(of: customer)
        let rows = Self.rows(of: customer, about: transaction)
        return JSONValue([
            "status": 0, "environment": customer.environment.rawValue,
            "latest_receipt_info": rows.map {
                AnswerRowWriter.transaction($0, isCurrent: true, includesConsumableRefunds: true)
            },
            "latest_receipt": latest.base64,
            "pending_renewal_info": customer.renewals.isEmpty ? nil : customer.renewals.map(AnswerRowWriter.renewal),
        ])
    }

    /// Returns the newest 100 rows, latest expiry first. Rows without an expiry come last.
    private static func rows(
        of customer: SimulatedCustomer, about transaction: SimulatedTransaction
    ) -> [SimulatedTransaction] {
        customer.transactions.filter { $0.isInReceipts || $0.transactionId == transaction.transactionId }.suffix(100)
            .sorted { left, right in
                switch (left.expiresDate, right.expiresDate) {
                case (let left?, let right?) where left != right: left > right
                case (nil, _?): false
                case (_?, nil): true
                default: left.purchaseDate > right.purchaseDate
                }
            }
    }
}

/// The types of version 1 notifications:
/// https://developer.apple.com/documentation/appstoreservernotifications/notification_type
enum NotificationV1Type: String, Sendable, Hashable {
    case initialBuy = "INITIAL_BUY"
    case interactiveRenewal = "INTERACTIVE_RENEWAL"
    case renewed = "DID_RENEW"
    case recovered = "DID_RECOVER"
    case changedPreference = "DID_CHANGE_RENEWAL_PREF"
    case changedStatus = "DID_CHANGE_RENEWAL_STATUS"
    case failed = "DID_FAIL_TO_RENEW"
    case priceIncreaseConsent = "PRICE_INCREASE_CONSENT"
    case cancelled = "CANCEL"
    case refunded = "REFUND"
    case revoked = "REVOKE"
    case consumptionRequest = "CONSUMPTION_REQUEST"

    /// In the order of sending, each with the index of its version 2 counterpart. Many events have no version 1
    /// notification, for example a voluntary expiry, the end of a grace period, or a one-time purchase.
    static func all(of outcome: EventOutcome) -> [(index: Int, type: NotificationV1Type)] {
        outcome.notifications.enumerated().flatMap { index, notification in
            types(of: notification, outcome).map { (index, $0) }
        }
    }

    private static func types(of notification: SimulatedNotification, _ outcome: EventOutcome) -> [NotificationV1Type] {
        switch (notification.type, notification.subtype) {
        case ("SUBSCRIBED", "INITIAL_BUY"): notification.transaction?.isFamilyShared == true ? [] : [.initialBuy]
        case ("SUBSCRIBED", _):
            isSameProduct(notification, outcome) ? [.changedStatus] : [.interactiveRenewal, .changedStatus]
        case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("OFFER_REDEEMED", "UPGRADE"):
            [.changedStatus, .interactiveRenewal]
        case ("DID_CHANGE_RENEWAL_PREF", _), ("OFFER_REDEEMED", "DOWNGRADE"): [.changedPreference]
        case ("DID_CHANGE_RENEWAL_STATUS", _): [.changedStatus]
        case ("DID_RENEW", "BILLING_RECOVERY"): [.recovered]
        case ("DID_RENEW", _): [.renewed]
        case ("DID_FAIL_TO_RENEW", _): [.failed]
        case ("EXPIRED", "BILLING_RETRY"): [.changedStatus]
        case ("EXPIRED", "VOLUNTARY"): []
        case ("EXPIRED", _): turnsOff(notification, outcome) ? [.changedStatus] : []
        case ("PRICE_INCREASE", "PENDING"): [.priceIncreaseConsent]
        // `REFUND` does not say that the renewal ends; the notification after it does.
        case ("REFUND", _): notification.transaction?.isAutoRenewable == true ? [.cancelled] : [.refunded]
        case ("REVOKE", _): [.revoked]
        case ("CONSUMPTION_REQUEST", _):
            notification.transaction?.product.kind == .consumable ? [.consumptionRequest] : []
        default: []
        }
    }

    /// Returns whether the customer resubscribed to the same product as before.
    private static func isSameProduct(_ notification: SimulatedNotification, _ outcome: EventOutcome) -> Bool {
        guard let transaction = notification.transaction else { return false }
        let previous = outcome.before?.transactions.last {
            $0.originalTransactionId == transaction.originalTransactionId
        }
        return previous?.product == transaction.product
    }

    private static func turnsOff(_ notification: SimulatedNotification, _ outcome: EventOutcome) -> Bool {
        let previous = notification.transaction.flatMap { outcome.before?.renewal(of: $0) }
        return previous?.willRenew == true && notification.renewal?.willRenew == false
    }
}
