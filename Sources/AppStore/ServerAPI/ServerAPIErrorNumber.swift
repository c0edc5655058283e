/// The `errorCode` of a Server API response. Apple defines the numbers, and may return numbers not listed here.
///
/// https://developer.apple.com/documentation/appstoreserverapi/error-codes
package struct ServerAPIErrorNumber: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: Int64

    /// Accepts any number, including those without a name here.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package var description: String { String(rawValue) }

    /// The revision does not belong to this history.
    package static let invalidRevision = Self(rawValue: 4_000_005)
    /// The identifier is not that of a transaction, although it has the right form.
    package static let invalidTransactionId = Self(rawValue: 4_000_006)
    /// The identifier is that of an app transaction, which this endpoint does not accept.
    static let appTransactionIdNotSupported = Self(rawValue: 4_000_048)
    package static let accountNotFound = Self(rawValue: 4_040_001)
    static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    /// The app is temporarily not available.
    static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    /// The original transaction does not exist. The older form of `transactionIdNotFound`.
    static let originalTransactionIdNotFound = Self(rawValue: 4_040_005)
    static let originalTransactionIdNotFoundRetryable = Self(rawValue: 4_040_006)
    /// The subscription was extended twice in 365 days.
    package static let extensionLimit = Self(rawValue: 4_030_005)
    /// The transaction does not exist, or it belongs to the other environment.
    static let transactionIdNotFound = Self(rawValue: 4_040_010)
    /// There is no app transaction, for example because the purchase is older than app transactions.
    package static let appTransactionNotFound = Self(rawValue: 4_040_019)
    package static let rateLimitExceeded = Self(rawValue: 4_290_000)
    /// A temporary internal error at Apple.
    static let generalInternalRetryable = Self(rawValue: 5_000_001)

    /// The errors that Apple documents as retryable.
    private static let temporary: Set<Self> = [
        .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable, .rateLimitExceeded,
        .generalInternalRetryable,
    ]

    /// True if the same request may succeed soon.
    package var isTemporary: Bool { Self.temporary.contains(self) }

    package var isUnknownTransaction: Bool { self == .transactionIdNotFound || self == .originalTransactionIdNotFound }
}

extension ServerAPIErrorNumber {
    /// A short explanation of an error for the user who entered the request; `nil` if Apple's own message is enough.
    package var meaning: String? { Self.meanings[rawValue] }

    private static let meanings: [Int64: String] = [
        4_000_000: "Apple rejected the request as malformed",
        4_000_006: "not a transaction id of this app",
        4_000_008: "not an original transaction id of this app",
        4_000_009: "the number of days is out of range",
        4_000_010: "the reason code is invalid",
        4_000_011: "the request identifier is invalid",
        4_000_012: "the start date is older than Apple's history",
        4_000_013: "the start date must be before the end date",
        4_000_014: "the pagination token is invalid",
        4_000_017: "the pagination token has expired",
        4_000_018: "unknown notification type or subtype",
        4_000_019: "transaction id and notification type cannot be combined",
        4_000_020: "not the token of a test notification",
        4_000_023: "not a product id of this app",
        4_000_027: "the list of storefronts is empty",
        4_000_028: "a storefront country code is invalid",
        4_000_035: "the customer's consent is missing",
        4_000_047: "this type of product is not supported",
        4_000_048: "this is the id of an app transaction; a transaction id is required",
        4_000_183: "the token is not a UUID",
        4_000_185: "the purchase is shared through Family Sharing",
        4_000_187: "not an original transaction id",
        4_000_209: "a consumption percentage is not allowed for a subscription",
        4_030_004: "the subscription cannot be extended: it is not active or still in a free period",
        4_030_005: "the subscription has already been extended twice in 365 days",
        4_030_007: "the subscription is shared through Family Sharing; only the buyer's can be extended",
        4_040_005: "no such original transaction in this environment",
        4_040_007: "no notification URL is configured for this environment",
        4_040_008: "the test notification does not exist or has not been sent yet",
        4_040_009: "no such extension request for this product",
        4_040_010: "no such transaction in this environment",
        4_040_019: "the App Store knows no download of the app for this transaction",
    ]
}
