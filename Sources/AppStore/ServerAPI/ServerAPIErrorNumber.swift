/// The `errorCode` of a Server API response. Apple defines the numbers, and may return numbers not listed here.
///
/// https://developer.apple.com/documentation/appstoreserverapi/error-codes
package struct ServerAPIErrorNumber: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// Apple's number.
    package let rawValue: Int64

    /// Accepts any number, including those without a name here.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The number as text.
    package var description: String { String(rawValue) }

    /// The revision does not belong to this history.
    package static let invalidRevision = Self(rawValue: 4_000_005)
    /// The identifier is not that of a transaction, although it has the right form.
    package static let invalidTransactionId = Self(rawValue: 4_000_006)
    /// The customer's account does not exist.
    package static let accountNotFound = Self(rawValue: 4_040_001)
    /// The customer's account is temporarily not available.
    package static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    /// The app does not exist.
    package static let appNotFound = Self(rawValue: 4_040_003)
    /// The app is temporarily not available.
    package static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    /// The original transaction does not exist. The older form of `transactionIdNotFound`.
    package static let originalTransactionIdNotFound = Self(rawValue: 4_040_005)
    /// The original transaction is temporarily not available.
    package static let originalTransactionIdNotFoundRetryable = Self(rawValue: 4_040_006)
    /// The transaction does not exist, or it belongs to the other environment.
    package static let transactionIdNotFound = Self(rawValue: 4_040_010)
    /// Apple's rate limit is exceeded.
    package static let rateLimitExceeded = Self(rawValue: 4_290_000)
    /// An internal error at Apple.
    package static let generalInternal = Self(rawValue: 5_000_000)
    /// A temporary internal error at Apple.
    package static let generalInternalRetryable = Self(rawValue: 5_000_001)

    /// The errors that Apple documents as retryable.
    private static let temporary: Set<Self> = [
        .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable, .rateLimitExceeded,
        .generalInternalRetryable,
    ]

    /// True if the same request may succeed soon.
    package var isTemporary: Bool { Self.temporary.contains(self) }

    /// True if the transaction is unknown in this environment.
    package var isUnknownTransaction: Bool { self == .transactionIdNotFound || self == .originalTransactionIdNotFound }
}
