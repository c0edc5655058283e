/// `errorCode` of an answer of the App Store Server API: Apple's numbers, an open set.
///
/// https://developer.apple.com/documentation/appstoreserverapi/error-codes
package struct ServerAPIErrorNumber: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// Apple's number.
    package let rawValue: Int64

    /// Any number; those without a name here survive.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The number.
    package var description: String { String(rawValue) }

    /// Not a revision of this history.
    package static let invalidRevision = Self(rawValue: 4_000_005)
    /// Not an identifier of a transaction, though it looked like one.
    package static let invalidTransactionId = Self(rawValue: 4_000_006)
    /// The customer's account is not there.
    package static let accountNotFound = Self(rawValue: 4_040_001)
    /// The same, for the moment.
    package static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    /// The app is not there.
    package static let appNotFound = Self(rawValue: 4_040_003)
    /// The same, for the moment.
    package static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    /// The original transaction is not there; older form of `transactionIdNotFound`.
    package static let originalTransactionIdNotFound = Self(rawValue: 4_040_005)
    /// The same, for the moment.
    package static let originalTransactionIdNotFoundRetryable = Self(rawValue: 4_040_006)
    /// The transaction is not there, or belongs to the other environment.
    package static let transactionIdNotFound = Self(rawValue: 4_040_010)
    /// Too many calls.
    package static let rateLimitExceeded = Self(rawValue: 4_290_000)
    /// A fault of Apple's.
    package static let generalInternal = Self(rawValue: 5_000_000)
    /// A fault of Apple's that passes.
    package static let generalInternalRetryable = Self(rawValue: 5_000_001)

    /// Those that Apple documents as passing.
    private static let temporary: Set<Self> = [
        .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable, .rateLimitExceeded,
        .generalInternalRetryable,
    ]

    /// Whether the same request may succeed soon.
    package var isTemporary: Bool { Self.temporary.contains(self) }

    /// Whether it says that this environment does not know the transaction.
    package var isUnknownTransaction: Bool { self == .transactionIdNotFound || self == .originalTransactionIdNotFound }
}
