package import ReceiptBridgeBase
import ReceiptBridgeCryptography

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

/// Writes and signs the payloads of version 2 notifications, including the signed transaction and renewal in them.
extension JWSIssuer {
    /// Returns the payload as compact JWS. The payload is the same each time; the signature differs.
    func sign(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault? = nil
    ) throws(CryptographyError) -> String {
        try sign(document(notification, fault), fault)
    }

    /// Returns the body that is posted: `{"signedPayload": …}`.
    func body(of notification: SimulatedNotification) throws(CryptographyError) -> [UInt8] {
        JSONValue(["signedPayload": try sign(notification)]).bytes
    }

    private func document(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let hasData = notification.summary == nil && notification.appTransactionOwner == nil
        let data = hasData ? try data(notification, fault) : nil
        return JSONValue([
            "notificationType": notification.type, "subtype": notification.subtype,
            "notificationUUID": notification.uuid, "data": data,
            "appData": try appData(notification, fault),
            "summary": notification.summary.map { Self.summary($0, notification.environment) },
            "version": "2.0", "signedDate": notification.date.milliseconds,
        ])
    }

    private func data(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue {
        let (environment, date) = (notification.environment, notification.date)
        let bundleId = Self.bundleId(fault)
        var members = SimulatedApp.envelope(environment, bundleId: bundleId)
        if let transaction = notification.transaction {
            let row = transaction.row(environment, signedDate: date, bundleId: bundleId)
            members += JSONValue.members(["bundleVersion": "42", "signedTransactionInfo": try sign(row, fault)])
        }
        if let renewal = notification.renewal {
            let row = renewal.row(environment, signedDate: date)
            members += JSONValue.members([
                "signedRenewalInfo": try sign(row, fault), "status": renewal.status.rawValue,
            ])
        }
        return .object(members + JSONValue.members(["consumptionRequestReason": notification.consumptionRequestReason]))
    }

    private func appData(
        _ notification: SimulatedNotification, _ fault: ServerAPIFault?
    ) throws(CryptographyError) -> JSONValue? {
        let bundleId = Self.bundleId(fault)
        let row = notification.appTransactionOwner?.appTransaction(
            receiptCreationDate: notification.date, bundleId: bundleId)
        guard let row else { return nil }
        return .object(
            SimulatedApp.envelope(notification.environment, bundleId: bundleId)
                + JSONValue.members(["signedAppTransactionInfo": try sign(row, fault)]))
    }

    private static func summary(
        _ summary: SimulatedNotification.ExtensionSummary, _ environment: AppStoreEnvironment
    ) -> JSONValue {
        .object(
            SimulatedApp.envelope(environment)
                + JSONValue.members([
                    "requestIdentifier": summary.requestIdentifier, "productId": summary.productId,
                    "storefrontCountryCodes": summary.storefronts.isEmpty ? nil : summary.storefronts,
                    "succeededCount": summary.succeeded, "failedCount": summary.failed,
                ]))
    }
}
