import AppStore
import ReceiptDecoding
import StoreTypes
import Transport

/// Maps failures of decoding, signature checks and the Server API to errors of the customer view. No other place does.
extension CustomerViewError {
    /// The `Retry-After` if the App Store sends none, in seconds.
    private static let defaultRetryAfter = 10
    /// The upper bound of a `Retry-After` from the App Store.
    private static let maximumRetryAfter = Duration.seconds(3600)

    init(_ error: ReceiptDecodingError) {
        switch error.verdict {
        case .notAReceipt: self.init(.notAReceipt, "\(error.place): \(error.reason)")
        case .notAuthentic: self.init(.notAuthentic, "\(error.place): \(error.reason)")
        case .undecided:
            self.init(.notVerifiable, "\(error.place): \(error.reason)", retryAfter: Self.defaultRetryAfter)
        }
    }

    init(_ error: SignedPayloadError) {
        switch error.code {
        case .malformed: self.init(.notASignedTransaction, "\(error.place): \(error.reason)")
        case .unavailable:
            self.init(.notVerifiable, "\(error.place): \(error.reason)", retryAfter: Self.defaultRetryAfter)
        default: self.init(.notAuthentic, "\(error.place): \(error.reason)")
        }
    }

    init(_ error: ServerAPIError, now: Timestamp) {
        if error.isUnknownTransaction || error.errorNumber == .invalidTransactionId {
            self.init(.transactionNotFound, "the App Store does not know this transaction")
        } else if error.errorNumber == .accountNotFound {
            self.init(.accountNotFound, "the customer's App Store account no longer exists")
        } else if error.code == .budgetSpent || error.code == .tooManyCalls {
            self.init(.budgetSpent, error.reason, retryAfter: Self.pause(after: error, now: now))
        } else if error.isTemporary {
            let reason = "the App Store is unavailable at the moment (\(error.code.rawValue))"
            self.init(.upstreamUnavailable, reason, retryAfter: Self.pause(after: error, now: now))
        } else {
            self.init(
                .upstreamFailed, "the App Store's response is unusable (\(error.code.rawValue))",
                isKeyRefused: error.code == .unauthorized)
        }
    }

    /// The `Retry-After` in whole seconds, at least 1.
    private static func pause(after error: ServerAPIError, now: Timestamp) -> Int {
        guard let retryAfter = error.retryAfter else { return defaultRetryAfter }
        let pause = retryAfter.delay(nowMilliseconds: now.milliseconds, maximum: maximumRetryAfter)
        return max(1, Int((pause / .seconds(1)).rounded(.up)))
    }
}
