package import StoreTypes

/// Why a renewal date is moved.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendreasoncode
package enum ExtensionReason: Int64, Sendable {
    /// No reason given.
    case undeclared = 0
    /// To make up for something.
    case customerSatisfaction = 1
    /// Any other.
    case other = 2
    /// An outage.
    case serviceIssue = 3
}

/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldaterequest
package struct ExtensionRequest: Sendable, Hashable {
    /// 1 to 90.
    package let days: Int
    /// Why.
    package let reason: ExtensionReason
    /// Ours, another one for each request.
    package let requestIdentifier: String

    /// A request.
    package init(days: Int, reason: ExtensionReason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    var body: [UInt8] {
        var body = JSONBody()
        body.add("extendByDays", Int64(days))
        body.add("extendReasonCode", reason.rawValue)
        body.add("requestIdentifier", requestIdentifier)
        return body.bytes
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldaterequest
package struct MassExtensionRequest: Sendable, Hashable {
    /// 1 to 90.
    package let days: Int
    /// Why.
    package let reason: ExtensionReason
    /// A UUID; the same again is the same request.
    package let requestIdentifier: String
    /// The subscription to extend.
    package let productId: String
    /// Countries of three letters; empty for all, since Apple refuses an empty list.
    package let storefrontCountryCodes: [String]

    /// A request.
    package init(
        days: Int, reason: ExtensionReason, requestIdentifier: String, productId: String,
        storefrontCountryCodes: [String] = []
    ) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
        self.productId = productId
        self.storefrontCountryCodes = storefrontCountryCodes
    }

    var body: [UInt8] {
        var body = JSONBody()
        body.add("requestIdentifier", requestIdentifier)
        body.add("extendByDays", Int64(days))
        body.add("extendReasonCode", reason.rawValue)
        body.add("productId", productId)
        body.add("storefrontCountryCodes", storefrontCountryCodes.isEmpty ? nil : storefrontCountryCodes)
        return body.bytes
    }
}

/// Which notifications to tell; the same on every page.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryrequest
package struct NotificationQuery: Sendable, Hashable {
    /// At most 180 days back, in the sandbox 30.
    package var startDate: Timestamp
    /// After `startDate`; one that lies ahead means now.
    package var endDate: Timestamp
    /// Not together with `transactionId`.
    package var notificationType: String?
    /// Only with its type.
    package var notificationSubtype: String?
    /// Any of the customer's.
    package var transactionId: TransactionIdentifier?
    /// Also those that are still being repeated.
    package var onlyFailures: Bool?

    /// All notifications of a span of time.
    package init(startDate: Timestamp, endDate: Timestamp) {
        self.startDate = startDate
        self.endDate = endDate
    }

    var body: [UInt8] {
        var body = JSONBody()
        body.add("startDate", startDate.milliseconds)
        body.add("endDate", endDate.milliseconds)
        body.add("notificationType", notificationType)
        body.add("notificationSubtype", notificationSubtype)
        body.add("transactionId", transactionId?.rawValue)
        body.add("onlyFailures", onlyFailures)
        return body.bytes
    }
}
