package import ReceiptBridgeBase

/// One app in one environment of the App Store. Transaction ids and other identifiers are unique only within a scope.
package struct AppScope: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// Sandbox or production. The same id can exist in both.
    package let environment: AppStoreEnvironment

    package init(bundleId: BundleIdentifier, environment: AppStoreEnvironment) {
        self.bundleId = bundleId
        self.environment = environment
    }
}

/// A notification as stored. The only later change is that retention reduces version 1 bodies of older versions.
package struct NotificationRow: Sendable, Hashable {
    /// Apple's `notificationUUID`, the same for every retry. Version 1: a digest of the body.
    package let uuid: String
    /// Version of App Store Server Notifications, 1 or 2; ``CustomerReport/version`` for a report.
    package let version: Int
    /// Apple's `notificationType`, for example `DID_RENEW`.
    package let type: String?
    /// Apple's `subtype`, for example `AUTO_RENEW_DISABLED`.
    package let subtype: String?
    /// When the App Store signed it; `nil` for version 1, and if the notification has no date.
    package let signedDate: Timestamp?
    /// By this machine's clock.
    package let receivedAt: Timestamp
    /// Version 2: the compact JWS. Version 1: transaction ids, separated by spaces.
    package let text: String
    /// The decoded payload of `text`, if already decoded. It is not stored, but saves the encoder from decoding it
    /// again.
    package let payload: [UInt8]?
    /// Version 2, if it is to be forwarded: the received body, if it is not `{"signedPayload":"<text>"}`.
    package let rawBody: [UInt8]?

    package init(
        uuid: String, version: Int, type: String?, subtype: String?, signedDate: Timestamp?, receivedAt: Timestamp,
        text: String, payload: [UInt8]? = nil, rawBody: [UInt8]? = nil
    ) {
        self.uuid = uuid.withoutNull
        self.version = version
        self.type = type?.withoutNull
        self.subtype = subtype?.withoutNull
        (self.signedDate, self.receivedAt, self.text) = (signedDate, receivedAt, text)
        (self.payload, self.rawBody) = (payload, rawBody)
    }
}

/// A signed transaction and the columns to find it by.
package struct TransactionRow: Sendable, Hashable {
    package let transactionId: String
    package let originalTransactionId: String
    /// The `appTransactionId` of the customer's download of the app; `nil` in payloads from before 2025.
    package let appTransactionId: String?
    /// The subscription from which this one was migrated to the Advanced Commerce API. Not stored as a column: it finds
    /// the customer of a new purchase.
    package let previousOriginalTransactionId: String?
    /// `true` for auto-renewable subscriptions, the only purchases with a status.
    package let isSubscription: Bool
    /// When the record was signed. The version with the latest date is stored.
    package let signedDate: Timestamp
    /// The revocation; `nil` if the purchase is not revoked, and for consumables.
    package let revocation: RevocationRow?
    /// The account token, a UUID in lower case; `nil` if the transaction has none.
    package let appAccountToken: String?
    /// When the period of a subscription ends; `nil` for a purchase without an end.
    package let expiresDate: Timestamp?
    /// The compact JWS.
    package let text: String

    package init(
        transactionId: String, originalTransactionId: String, appTransactionId: String?,
        previousOriginalTransactionId: String? = nil, isSubscription: Bool, signedDate: Timestamp,
        revocation: RevocationRow?, appAccountToken: String? = nil, expiresDate: Timestamp? = nil, text: String
    ) {
        self.transactionId = transactionId.withoutNull
        self.originalTransactionId = originalTransactionId.withoutNull
        self.appTransactionId = appTransactionId?.withoutNull
        self.previousOriginalTransactionId = previousOriginalTransactionId?.withoutNull
        (self.isSubscription, self.signedDate, self.revocation) = (isSubscription, signedDate, revocation)
        (self.appAccountToken, self.expiresDate, self.text) = (appAccountToken, expiresDate, text)
    }
}

/// A revoked purchase, for example a refunded one.
package struct RevocationRow: Sendable, Hashable {
    package let transactionId: String
    package let webOrderLineItemId: String?
    package let date: Timestamp
    /// Apple's `revocationReason`: 0 other, 1 an issue in the app.
    package let reason: Int64?
    /// When the record with the revocation was signed; `nil` if verifyReceipt reported it.
    package let signedDate: Timestamp?
    /// When the request began to which verifyReceipt reported it; `nil` if a signed record states it, and in rows of
    /// 0.1.0.
    package let askedAt: Timestamp?

    package init(
        transactionId: String, webOrderLineItemId: String?, date: Timestamp, reason: Int64?,
        signedDate: Timestamp? = nil, askedAt: Timestamp? = nil
    ) {
        self.transactionId = transactionId.withoutNull
        self.webOrderLineItemId = webOrderLineItemId?.withoutNull
        (self.date, self.reason, self.signedDate, self.askedAt) = (date, reason, signedDate, askedAt)
    }
}

extension TransactionRow {
    /// The column value of ``expiresDate``, in milliseconds; -1 for a purchase without an end, because null means that
    /// an earlier version stored the row.
    package var expiresColumn: Int64 { Self.expiresColumn(expiresDate) }

    package static func expiresColumn(_ expiresDate: Timestamp?) -> Int64 { expiresDate?.milliseconds ?? -1 }
}

/// The signed renewal info of a subscription.
package struct RenewalRow: Sendable, Hashable {
    package let originalTransactionId: String
    /// When the record was signed. The version with the latest date is stored.
    package let signedDate: Timestamp
    /// The compact JWS.
    package let text: String

    package init(originalTransactionId: String, signedDate: Timestamp, text: String) {
        self.originalTransactionId = originalTransactionId.withoutNull
        self.signedDate = signedDate
        self.text = text
    }
}

/// The status of a subscription.
package struct StatusRow: Sendable, Hashable {
    package let originalTransactionId: String
    /// 1 active, 2 expired, 3 in billing retry, 4 in grace period, 5 revoked.
    package let status: Int
    /// `nil` if it was not reported. Then the stored value stays.
    package let subscriptionGroupIdentifier: String?
    /// The time at which the status was valid. The latest status is stored.
    package let clock: Timestamp

    package init(originalTransactionId: String, status: Int, subscriptionGroupIdentifier: String?, clock: Timestamp) {
        self.originalTransactionId = originalTransactionId.withoutNull
        self.status = status
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier?.withoutNull
        self.clock = clock
    }
}
