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

    /// Returns the version 1 notifications about an event in the order of sending, each with the index of its version
    /// 2 counterpart.
    ///
    /// Many events have no version 1 notification, for example a voluntary expiry, the end of a grace period, or a
    /// one-time purchase.
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
        let previous = outcome.before?.transactions.last {
            $0.originalTransactionId == notification.transaction?.originalTransactionId
        }
        return previous?.product == notification.transaction?.product
    }

    /// Returns whether the event turned off the renewal.
    private static func turnsOff(_ notification: SimulatedNotification, _ outcome: EventOutcome) -> Bool {
        let previous = outcome.before?.renewals.first {
            $0.originalTransactionId == notification.renewal?.originalTransactionId
        }
        return previous?.willRenew == true && notification.renewal?.willRenew == false
    }
}
