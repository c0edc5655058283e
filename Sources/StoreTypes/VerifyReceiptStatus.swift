/// The `status` of a verifyReceipt answer: Apple's numbers, an open set.
///
/// https://developer.apple.com/documentation/appstorereceipts/status
package struct VerifyReceiptStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: Int

    /// Any number; those without a name here survive.
    package init(rawValue: Int) { self.rawValue = rawValue }

    package var description: String { String(rawValue) }

    /// The receipt is genuine. Of an App Receipt it says no more: every subscription in it may have ended.
    package static let valid = Self(rawValue: 0)
    /// The request was not a POST.
    package static let notPost = Self(rawValue: 21000)
    /// `receipt-data` is missing or malformed; from Apple also a passing fault: there were outages of nothing but this.
    package static let malformedReceipt = Self(rawValue: 21002)
    /// The receipt is not authentic.
    package static let notAuthentic = Self(rawValue: 21003)
    /// The shared secret is not the app's.
    package static let wrongSharedSecret = Self(rawValue: 21004)
    /// No answer at the moment; to be tried again.
    package static let temporarilyUnavailable = Self(rawValue: 21005)
    /// The receipt is genuine, its subscription has ended; only for iOS 6 receipts.
    package static let subscriptionExpired = Self(rawValue: 21006)
    /// A sandbox receipt came to the production endpoint.
    package static let sandboxReceipt = Self(rawValue: 21007)
    /// A production receipt came to the sandbox endpoint.
    package static let productionReceipt = Self(rawValue: 21008)
    /// Apple could not get at its data.
    package static let internalDataAccess = Self(rawValue: 21009)
    /// The customer's account is not there any more.
    package static let accountNotFound = Self(rawValue: 21010)

    /// No verdict on the receipt: another time there is one.
    package var isTemporary: Bool { self == .temporarilyUnavailable || isInternalDataAccess }

    /// 21009 and 21100 to 21199: faults inside the App Store.
    package var isInternalDataAccess: Bool { self == .internalDataAccess || (21100...21199).contains(rawValue) }
}
