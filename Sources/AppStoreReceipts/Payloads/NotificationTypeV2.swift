/// The event that a notification reports. Apple adds values; one without a name here is preserved.
public struct NotificationTypeV2: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: String
    /// Accepts a value that has no constant here, too.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription began, or began again.
    public static let subscribed = Self(rawValue: "SUBSCRIBED")
    /// A subscriber redeemed an offer.
    public static let offerRedeemed = Self(rawValue: "OFFER_REDEEMED")
    /// The product of the next period changed.
    public static let didChangeRenewalPref = Self(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Renewal was turned on or off.
    public static let didChangeRenewalStatus = Self(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// A subscription was renewed.
    public static let didRenew = Self(rawValue: "DID_RENEW")
    /// The payment of a renewal failed.
    public static let didFailToRenew = Self(rawValue: "DID_FAIL_TO_RENEW")
    /// The grace period ended without a payment.
    public static let gracePeriodExpired = Self(rawValue: "GRACE_PERIOD_EXPIRED")
    /// A subscription expired.
    public static let expired = Self(rawValue: "EXPIRED")
    /// A price increase needs consent, or was consented to.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// The price of a subscription of the Advanced Commerce API changed.
    public static let priceChange = Self(rawValue: "PRICE_CHANGE")
    /// A purchase was refunded.
    public static let refund = Self(rawValue: "REFUND")
    /// A refund was declined.
    public static let refundDeclined = Self(rawValue: "REFUND_DECLINED")
    /// A refund was reversed.
    public static let refundReversed = Self(rawValue: "REFUND_REVERSED")
    /// The customer asked for a refund, and the App Store asks how the purchase was used.
    public static let consumptionRequest = Self(rawValue: "CONSUMPTION_REQUEST")
    /// A purchase was withdrawn from Family Sharing.
    public static let revoke = Self(rawValue: "REVOKE")
    /// The end of one subscription was extended.
    public static let renewalExtended = Self(rawValue: "RENEWAL_EXTENDED")
    /// A request to extend many subscriptions is complete, or failed for one of them.
    public static let renewalExtension = Self(rawValue: "RENEWAL_EXTENSION")
    /// A product that is not a subscription was bought.
    public static let oneTimeCharge = Self(rawValue: "ONE_TIME_CHARGE")
    /// A token for a purchase outside the App Store was created.
    public static let externalPurchaseToken = Self(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// A parent or guardian withdrew the consent for the app.
    public static let rescindConsent = Self(rawValue: "RESCIND_CONSENT")
    /// The metadata of a subscription of the Advanced Commerce API changed.
    public static let metadataUpdate = Self(rawValue: "METADATA_UPDATE")
    /// A subscription was moved to the Advanced Commerce API.
    public static let migration = Self(rawValue: "MIGRATION")
    /// The developer asked for a test.
    public static let test = Self(rawValue: "TEST")
}

/// The detail of the event that a notification reports. A value without a name here is preserved.
public struct Subtype: RawRepresentable, Hashable, Sendable {
    /// The value as the App Store writes it.
    public let rawValue: String
    /// Accepts a value that has no constant here, too.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first purchase in the subscription group, or the first access as a member of the family.
    public static let initialBuy = Self(rawValue: "INITIAL_BUY")
    /// A purchase after a subscription of the group had expired.
    public static let resubscribe = Self(rawValue: "RESUBSCRIBE")
    /// To a higher level, at once.
    public static let upgrade = Self(rawValue: "UPGRADE")
    /// To a lower level, at the next renewal.
    public static let downgrade = Self(rawValue: "DOWNGRADE")
    /// Renewal was turned on.
    public static let autoRenewEnabled = Self(rawValue: "AUTO_RENEW_ENABLED")
    /// Renewal was turned off.
    public static let autoRenewDisabled = Self(rawValue: "AUTO_RENEW_DISABLED")
    /// A payment that had failed succeeded.
    public static let billingRecovery = Self(rawValue: "BILLING_RECOVERY")
    /// Access continues in the grace period.
    public static let gracePeriod = Self(rawValue: "GRACE_PERIOD")
    /// The customer had turned off renewal.
    public static let voluntary = Self(rawValue: "VOLUNTARY")
    /// The payment failed until the retries ended.
    public static let billingRetry = Self(rawValue: "BILLING_RETRY")
    /// The customer did not consent to a price increase.
    public static let priceIncrease = Self(rawValue: "PRICE_INCREASE")
    /// The product was not available for renewal.
    public static let productNotForSale = Self(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// The customer has not responded yet.
    public static let pending = Self(rawValue: "PENDING")
    /// The customer consented, or consent was not needed.
    public static let accepted = Self(rawValue: "ACCEPTED")
    /// The request to extend many subscriptions is complete; the numbers are in the payload.
    public static let summary = Self(rawValue: "SUMMARY")
    /// As ``summary``, in one place of Apple's documentation.
    public static let success = Self(rawValue: "SUCCESS")
    /// A request to extend many subscriptions failed for this one.
    public static let failure = Self(rawValue: "FAILURE")
    /// A token was not reported.
    public static let unreported = Self(rawValue: "UNREPORTED")
    /// A token was created.
    public static let created = Self(rawValue: "CREATED")
    /// The monthly reminder of a token.
    public static let activeTokenReminder = Self(rawValue: "ACTIVE_TOKEN_REMINDER")
}
