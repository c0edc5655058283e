package import StoreTypes

extension VerifyReceiptStatus {
    /// Whether asking the same again makes sense.
    package enum Retry: Sendable, Hashable {
        /// The verdict stands.
        case never
        /// Once; the same verdict again stands.
        case once
        /// As often as the policy allows.
        case untilAnswered
    }

    /// The statuses that may pass; all others are final, whatever they say: 21010 has been seen as retryable.
    private static let retries: [(statuses: ClosedRange<Int>, retry: Retry)] = [
        (21002...21002, .once),
        (21005...21005, .untilAnswered),
        (21009...21009, .untilAnswered),
        (21100...21199, .untilAnswered),
    ]

    /// What to do about this status with that `is_retryable`; an explicit false is believed.
    package func retry(isRetryable: Bool?) -> Retry {
        guard isRetryable != false else { return .never }
        return Self.retries.first { $0.statuses.contains(rawValue) }?.retry ?? .never
    }
}

extension AppleAnswer {
    /// Whether asking the same again makes sense.
    package var retry: VerifyReceiptStatus.Retry { status.retry(isRetryable: isRetryable) }
}
