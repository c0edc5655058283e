package import ReceiptBridgeBase

/// The reason for a renewal extension.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendreasoncode
package enum ExtensionReason: Int64, Sendable {
    case undeclared = 0
    case customerSatisfaction = 1
    case other = 2
    case serviceIssue = 3
}

/// A request to extend the renewal date of one subscription.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionRequest: Sendable, Hashable {
    /// The number of days, 1 to 90.
    package let days: Int
    package let reason: ExtensionReason
    /// An identifier chosen by the caller, unique for each request.
    package let requestIdentifier: String

    package init(days: Int, reason: ExtensionReason, requestIdentifier: String) {
        (self.days, self.reason, self.requestIdentifier) = (days, reason, requestIdentifier)
    }

    var body: [UInt8] {
        JSONWriter.object {
            $0.member("extendByDays", Int64(days))
            $0.member("extendReasonCode", reason.rawValue)
            $0.member("requestIdentifier", requestIdentifier)
        }
    }
}

/// A request to extend the renewal dates of all active subscribers of a product.
///
/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldaterequest
package struct MassExtensionRequest: Sendable, Hashable {
    /// 1 to 90.
    package let days: Int
    package let reason: ExtensionReason
    /// A UUID. Sending the same one again repeats the same request.
    package let requestIdentifier: String
    package let productId: String
    /// Three-letter storefront country codes. Empty for all; the member is then omitted, because Apple rejects an
    /// empty list.
    package let storefrontCountryCodes: [String]

    package init(
        days: Int, reason: ExtensionReason, requestIdentifier: String, productId: String,
        storefrontCountryCodes: [String] = []
    ) {
        (self.days, self.reason, self.requestIdentifier) = (days, reason, requestIdentifier)
        (self.productId, self.storefrontCountryCodes) = (productId, storefrontCountryCodes)
    }

    var body: [UInt8] {
        JSONWriter.object {
            $0.member("requestIdentifier", requestIdentifier)
            $0.member("extendByDays", Int64(days))
            $0.member("extendReasonCode", reason.rawValue)
            $0.member("productId", productId)
            if !storefrontCountryCodes.isEmpty { $0.member("storefrontCountryCodes", storefrontCountryCodes) }
        }
    }
}

/// The filter of a notification history. It must be the same for every page.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryrequest
package struct NotificationQuery: Sendable, Hashable {
    /// At most 180 days ago, in the sandbox 30.
    package var startDate: Timestamp
    /// Must be after `startDate`. A time in the future means now.
    package var endDate: Timestamp
    /// Cannot be combined with `transactionId`.
    package var notificationType: String?
    /// Requires `notificationType`.
    package var notificationSubtype: String?
    /// Any transaction of the customer.
    package var transactionId: TransactionIdentifier?
    /// True for only the notifications that were not delivered, including those that Apple still retries.
    package var onlyFailures: Bool?

    /// Asks for all notifications in a period.
    package init(startDate: Timestamp, endDate: Timestamp) {
        self.startDate = startDate
        self.endDate = endDate
    }

    var body: [UInt8] {
        JSONWriter.object {
            $0.member("startDate", startDate.milliseconds)
            $0.member("endDate", endDate.milliseconds)
            $0.member("notificationType", ifPresent: notificationType)
            $0.member("notificationSubtype", ifPresent: notificationSubtype)
            $0.member("transactionId", ifPresent: transactionId?.rawValue)
            $0.member("onlyFailures", ifPresent: onlyFailures)
        }
    }
}
