/// The `notificationType` of a notification. Apple may send values not listed here.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
package struct NotificationType: RawRepresentable, Sendable, Hashable {
    /// The value as Apple writes it, for example `DID_RENEW`.
    package let rawValue: String

    /// Accepts any text, including values without a name here.
    package init(rawValue: String) { self.rawValue = rawValue }

    package static let test = Self(rawValue: "TEST")
    package static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    package static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    package static let migration = Self(rawValue: "MIGRATION")
    /// The changelog's spelling of ``migration``.
    package static let migrate = Self(rawValue: "MIGRATE")

    /// True if the type is in the documentation of 2026, so that its content is known.
    package var isKnown: Bool { Self.known.contains(rawValue) }

    private static let known: Set<String> = [
        "SUBSCRIBED", "OFFER_REDEEMED", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_RENEW",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "REFUND_REVERSED", "CONSUMPTION_REQUEST", "REVOKE", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION",
        "ONE_TIME_CHARGE", "TEST", "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION",
        "MIGRATE", "PRICE_CHANGE",
    ]
}
