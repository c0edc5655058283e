/// The names of Apple's notification types.
package enum NotificationTypeName {
    /// Source: Apple, "notificationType" of App Store Server Notifications, and "notification_type" of version 1.
    private static let all = [
        "CANCEL", "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
        "DID_RECOVER", "DID_RENEW", "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "INITIAL_BUY",
        "INTERACTIVE_RENEWAL", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "PRICE_CHANGE",
        "PRICE_INCREASE", "PRICE_INCREASE_CONSENT", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "RENEWAL",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED", "TEST",
    ]

    package static func isKnown(_ name: String) -> Bool { all.contains(name) }

    /// Returns a sentence about a name that is most likely a misspelling; `nil` for a type of Apple's, and for a name
    /// that resembles none, which may be a new one.
    package static func misspelling(_ name: String) -> String? {
        guard !isKnown(name) else { return nil }
        let question = name.didYouMean(all)
        return question.isEmpty ? nil : unknown(name)
    }

    /// Returns a sentence about a name that is not a type.
    package static func unknown(_ name: String) -> String { "\(name) is not a type of Apple's\(name.didYouMean(all))" }
}
