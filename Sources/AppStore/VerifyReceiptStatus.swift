/// The `status` of a verifyReceipt answer.
package struct VerifyReceiptStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// Apple's number.
    package let rawValue: Int

    /// Any number; those without a name here survive.
    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The number.
    package var description: String { String(rawValue) }

    /// Genuine.
    package static let valid = Self(rawValue: 0)
    /// Not a POST.
    package static let notPost = Self(rawValue: 21000)
    /// Malformed, or a passing fault of the service: there have been outages of nothing but this.
    package static let malformed = Self(rawValue: 21002)
    /// Not authentic.
    package static let notAuthentic = Self(rawValue: 21003)
    /// The shared secret does not match.
    package static let wrongSecret = Self(rawValue: 21004)
    /// The service cannot answer now.
    package static let unavailable = Self(rawValue: 21005)
    /// Genuine, but the subscription has expired; iOS 6 receipts only.
    package static let expired = Self(rawValue: 21006)
    /// A sandbox receipt sent to production.
    package static let isSandboxReceipt = Self(rawValue: 21007)
    /// A production receipt sent to the sandbox.
    package static let isProductionReceipt = Self(rawValue: 21008)
    /// An internal error of the service.
    package static let internalError = Self(rawValue: 21009)
    /// The account was not found, or is deleted.
    package static let accountNotFound = Self(rawValue: 21010)
}

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
