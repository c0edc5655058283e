package import StoreTypes

extension VerifyReceiptStatus {
    /// The statuses that may pass; all others are final, whatever they say: 21010 has been seen as retryable.
    private static let passing: [ClosedRange<Int>] = [21005...21005, 21009...21009, 21100...21199]

    /// Whether asking the same again makes sense, with that `is_retryable`; an explicit false is believed.
    package func isTransient(isRetryable: Bool?) -> Bool {
        isRetryable != false && Self.passing.contains { $0.contains(rawValue) }
    }
}

extension UpstreamResponse {
    /// Whether asking the same again makes sense.
    package var isTransient: Bool { status.isTransient(isRetryable: isRetryable) }
}
