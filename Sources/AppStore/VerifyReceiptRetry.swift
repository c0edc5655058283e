package import StoreTypes

extension VerifyReceiptStatus {
    /// The statuses that are temporary. All others are final even if `is_retryable` is true, as was observed with
    /// 21010.
    private static let passing: [ClosedRange<Int>] = [21005...21005, 21009...21009, 21100...21199]

    /// Returns whether a retry makes sense, given the response's `is_retryable`. An explicit `false` always means no.
    package func isTransient(isRetryable: Bool?) -> Bool {
        isRetryable != false && Self.passing.contains { $0.contains(rawValue) }
    }
}

extension UpstreamResponse {
    /// True if a retry makes sense.
    package var isTransient: Bool { status.isTransient(isRetryable: isRetryable) }
}
