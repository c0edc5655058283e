package import StoreTypes

/// A notification as it is kept: what it was about, and its text. Never changed again.
package struct NotificationRow: Sendable, Hashable {
    /// The same for every delivery of one notification.
    package let uuid: String
    /// 1 or 2.
    package let version: Int
    /// As Apple spells it.
    package let type: String?
    /// As Apple spells it.
    package let subtype: String?
    /// When the App Store signed it; nil for version 1, and where it does not say.
    package let signedDate: Timestamp?
    /// By this machine's clock.
    package let receivedAt: Timestamp
    /// Version 2: the compact JWS. Version 1: transaction ids, separated by spaces.
    package let text: String
    /// Version 2, to be forwarded: the body as it came, where it is not `{"signedPayload":"<text>"}`.
    package let rawBody: [UInt8]?

    package init(
        uuid: String, version: Int, type: String?, subtype: String?, signedDate: Timestamp?, receivedAt: Timestamp,
        text: String, rawBody: [UInt8]? = nil
    ) {
        self.uuid = uuid
        self.version = version
        self.type = type
        self.subtype = subtype
        self.signedDate = signedDate
        self.receivedAt = receivedAt
        self.text = text
        self.rawBody = rawBody
    }
}

/// One signed transaction, and what it is found by.
package struct TransactionRow: Sendable, Hashable {
    package let transactionId: String
    package let originalTransactionId: String
    /// Of the customer's download of the app; nil in payloads of before 2025.
    package let appTransactionId: String?
    /// Auto-renewables have a status.
    package let isSubscription: Bool
    /// The record's clock: the newer signature counts.
    package let signedDate: Timestamp
    /// Nil where it was not taken back, or is a consumable.
    package let revocation: RevocationRow?
    /// The compact JWS.
    package let text: String

    package init(
        transactionId: String, originalTransactionId: String, appTransactionId: String?, isSubscription: Bool,
        signedDate: Timestamp, revocation: RevocationRow?, text: String
    ) {
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.appTransactionId = appTransactionId
        self.isSubscription = isSubscription
        self.signedDate = signedDate
        self.revocation = revocation
        self.text = text
    }
}

/// A purchase that was taken back.
package struct RevocationRow: Sendable, Hashable {
    package let transactionId: String
    package let webOrderLineItemId: String?
    package let date: Timestamp
    /// 0 other, 1 an issue in the app.
    package let reason: Int64?
    /// When the record that says so was signed; nil for what verifyReceipt told.
    package let signedDate: Timestamp?

    package init(
        transactionId: String, webOrderLineItemId: String?, date: Timestamp, reason: Int64?,
        signedDate: Timestamp? = nil
    ) {
        self.transactionId = transactionId
        self.webOrderLineItemId = webOrderLineItemId
        self.date = date
        self.reason = reason
        self.signedDate = signedDate
    }
}

/// How a subscription goes on, as signed.
package struct RenewalRow: Sendable, Hashable {
    package let originalTransactionId: String
    /// The record's clock.
    package let signedDate: Timestamp
    /// The compact JWS.
    package let text: String

    package init(originalTransactionId: String, signedDate: Timestamp, text: String) {
        self.originalTransactionId = originalTransactionId
        self.signedDate = signedDate
        self.text = text
    }
}

/// Where a subscription stands.
package struct StatusRow: Sendable, Hashable {
    package let originalTransactionId: String
    /// 1 active, 2 expired, 3 in billing retry, 4 in grace, 5 revoked.
    package let status: Int
    /// Nil where it is not told; then what is known stays.
    package let subscriptionGroupIdentifier: String?
    /// As of when: what is newer counts.
    package let clock: Timestamp

    package init(originalTransactionId: String, status: Int, subscriptionGroupIdentifier: String?, clock: Timestamp) {
        self.originalTransactionId = originalTransactionId
        self.status = status
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        self.clock = clock
    }
}
