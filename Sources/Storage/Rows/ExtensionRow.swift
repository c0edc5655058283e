package import Base

/// An extension of a subscription's renewal date.
package struct ExtensionRow: Sendable, Hashable {
    package let originalTransactionId: String
    /// Created by this program, different for each request.
    package let requestIdentifier: String
    /// Number of days that the renewal date is extended by.
    package let days: Int
    /// Apple's `extendReasonCode`, 0 to 3.
    package let reason: Int64
    /// By this machine's clock.
    package let extendedAt: Timestamp
    /// The new end of the period; `nil` if Apple did not report it.
    package let effectiveDate: Timestamp?

    package init(
        originalTransactionId: String, requestIdentifier: String, days: Int, reason: Int64, extendedAt: Timestamp,
        effectiveDate: Timestamp?
    ) {
        self.originalTransactionId = originalTransactionId
        self.requestIdentifier = requestIdentifier
        self.days = days
        self.reason = reason
        self.extendedAt = extendedAt
        self.effectiveDate = effectiveDate
    }
}
