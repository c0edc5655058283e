package import ReceiptBridgeBase
package import ReceiptBridgeTransport

/// A verifyReceipt response from Apple: JSON with a status, and with a receipt if the status is 0 or 21006.
package struct AppleResponse: Sendable, Hashable {
    /// The body exactly as received.
    package let body: [UInt8]
    package let status: VerifyReceiptStatus
    /// The value of `is_retryable`; `nil` if it is absent or unreadable.
    package let isRetryable: Bool?
    /// The memory of the body; `nil` if it is not limited.
    package let memory: ResponseReservation?

    package init(body: [UInt8], status: VerifyReceiptStatus, isRetryable: Bool?, memory: ResponseReservation? = nil) {
        (self.body, self.memory, self.status, self.isRetryable) = (body, memory, status, isRetryable)
    }

    /// True if a retry makes sense. A status that is not temporary is final even if `is_retryable` is true, as was
    /// observed with 21010. An explicit `false` always means no.
    package var isTransient: Bool { isRetryable != false && status.isTemporary }
}
