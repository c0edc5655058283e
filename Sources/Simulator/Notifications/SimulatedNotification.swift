package import ReceiptBridgeBase

/// An App Store Server Notification: the event, and the transaction and renewal in their state after it.
///
/// Format and names:
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
package struct SimulatedNotification: Sendable, Hashable {
    /// The same for every attempt, every duplicate and in the notification history; receivers detect duplicates by
    /// it.
    package let uuid: String
    package let type: String
    package var subtype: String?
    package let environment: AppStoreEnvironment
    /// `nil` if the notification is not about one customer.
    package var customerId: String?
    /// Date of the event. It is the `signedDate` of the payload and of both signed records, even if they are signed
    /// later.
    package let date: Timestamp
    package var transaction: SimulatedTransaction?
    /// Only for auto-renewable subscriptions.
    package var renewal: SimulatedRenewal?
    /// Only for `CONSUMPTION_REQUEST`.
    package var consumptionRequestReason: String?
    /// The customer whose app transaction it contains. Only for `RESCIND_CONSENT`, which has no transaction.
    package var appTransactionOwner: SimulatedCustomer?
    /// Only for `RENEWAL_EXTENSION` with `SUMMARY`.
    package var summary: ExtensionSummary?

    package struct ExtensionSummary: Sendable, Hashable {
        package let requestIdentifier: String
        package let productId: String
        /// Country codes with three letters, for example `USA`; empty if the request named none.
        package let storefronts: [String]
        package let succeeded: Int64
        package let failed: Int64
    }
}

/// Notifications that the App Store sent before the world was generated, derived from a customer's transactions and
/// renewals.
extension SimulatedNotification {
    /// Returns the notifications of a customer in the order in which they were sent.
    static func all(of customer: SimulatedCustomer) -> [SimulatedNotification] {
        (customer.transactions.flatMap { purchase($0, of: customer) }
            + customer.renewals.compactMap { end($0, of: customer) })
            .sorted { $0.date < $1.date }
    }

    private static func purchase(
        _ transaction: SimulatedTransaction, of customer: SimulatedCustomer
    ) -> [SimulatedNotification] {
        let isFirst = transaction.transactionId == transaction.originalTransactionId
        let (type, subtype): (String, String?) =
            !transaction.isAutoRenewable
            ? ("ONE_TIME_CHARGE", nil)
            : transaction.isRenewal ? ("DID_RENEW", nil) : ("SUBSCRIBED", isFirst ? "INITIAL_BUY" : "RESUBSCRIBE")
        let events: [(type: String, subtype: String?, date: Timestamp?)] = [
            (type, subtype, transaction.purchaseDate),
            ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", transaction.upgradedDate),
            (transaction.isRefunded ? "REFUND" : "REVOKE", nil, transaction.revocation?.date),
        ]
        return events.compactMap { event in
            event.date.map {
                past(event.type, event.subtype, of: customer, at: $0, transaction, customer.renewal(of: transaction))
            }
        }
    }

    /// Returns the notification about a failed renewal or an expiry, or `nil` if the subscription is active or revoked.
    private static func end(_ renewal: SimulatedRenewal, of customer: SimulatedCustomer) -> SimulatedNotification? {
        guard let newest = customer.newestTransaction(of: renewal), let date = newest.expiresDate else { return nil }
        let (type, subtype): (String, String?)
        switch (renewal.status, renewal.expirationIntent) {
        case (.gracePeriod, _): (type, subtype) = ("DID_FAIL_TO_RENEW", "GRACE_PERIOD")
        case (.billingRetry, _): (type, subtype) = ("DID_FAIL_TO_RENEW", nil)
        case (.expired, 1): (type, subtype) = ("EXPIRED", "VOLUNTARY")
        case (.expired, 2): (type, subtype) = ("EXPIRED", "BILLING_RETRY")
        case (.expired, 3): (type, subtype) = ("EXPIRED", "PRICE_INCREASE")
        case (.expired, 4): (type, subtype) = ("EXPIRED", "PRODUCT_NOT_FOR_SALE")
        case (.expired, _): (type, subtype) = ("EXPIRED", nil)
        case (.active, _), (.revoked, _): return nil
        }
        return .past(type, subtype, of: customer, at: date, newest, renewal)
    }

    /// The UUID is derived from type, transaction and date, because one transaction can have several notifications.
    private static func past(
        _ type: String, _ subtype: String?, of customer: SimulatedCustomer, at date: Timestamp,
        _ transaction: SimulatedTransaction, _ renewal: SimulatedRenewal?
    ) -> SimulatedNotification {
        .init(
            uuid: SplitMix64.uuid(named: "\(type).\(transaction.transactionId).\(date.milliseconds)"), type: type,
            subtype: subtype, environment: customer.environment, customerId: customer.id, date: date,
            transaction: transaction, renewal: transaction.isAutoRenewable ? renewal : nil)
    }
}
