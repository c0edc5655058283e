/// The `status` of a verifyReceipt response. Apple defines the numbers, and may return numbers not listed here.
///
/// https://developer.apple.com/documentation/appstorereceipts/status
package struct VerifyReceiptStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package var description: String { String(rawValue) }

    /// The receipt is authentic. An App Receipt with this status may still hold only subscriptions that have expired.
    package static let valid = Self(rawValue: 0)
    package static let notPost = Self(rawValue: 21000)
    /// `receipt-data` is missing or malformed. Apple also returns it during outages, for receipts that are fine.
    package static let malformedReceipt = Self(rawValue: 21002)
    package static let notAuthentic = Self(rawValue: 21003)
    /// The shared secret does not match the one of the app.
    package static let wrongSharedSecret = Self(rawValue: 21004)
    /// The receipt server is temporarily unavailable; the client should retry.
    package static let temporarilyUnavailable = Self(rawValue: 21005)
    /// The receipt is authentic but its subscription has expired. Only for iOS 6 receipts.
    package static let subscriptionExpired = Self(rawValue: 21006)
    /// A sandbox receipt was sent to the production endpoint.
    package static let sandboxReceipt = Self(rawValue: 21007)
    /// A production receipt was sent to the sandbox endpoint.
    package static let productionReceipt = Self(rawValue: 21008)
    package static let internalDataAccess = Self(rawValue: 21009)
    /// The customer's account was not found or has been deleted.
    package static let accountNotFound = Self(rawValue: 21010)

    /// True if the status says nothing about the receipt: a retry may get a final status.
    package var isTemporary: Bool { self == .temporarilyUnavailable || isInternalDataAccess }

    /// True for 0 and 21006: the response has the decoded receipt as the object `receipt`, as every genuine response
    /// with these statuses has (2012 to 2025).
    package var promisesReceipt: Bool { self == .valid || self == .subscriptionExpired }

    /// True for 21009 and 21100 to 21199, which are faults inside the App Store.
    package var isInternalDataAccess: Bool { self == .internalDataAccess || (21100...21199).contains(rawValue) }
}
