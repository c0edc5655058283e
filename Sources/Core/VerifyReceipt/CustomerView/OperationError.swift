package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts

/// The reason why an operation has no result, for example why there is no view of a customer: a stable code for
/// clients, an HTTP status, and a sentence for people.
package struct OperationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure, by the names that clients see.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The body or a query parameter has the wrong form.
        case malformedRequest
        /// Not 1 to 20 digits, or only zeros.
        case malformedTransactionId
        /// Not 1 to 64 letters and digits.
        case malformedOrderId
        /// Not a UUID.
        case malformedAccountToken
        /// Several apps are configured, and the request names none.
        case bundleIdRequired
        /// The text is not a receipt.
        case notAReceipt
        /// The text is not a signed transaction.
        case notASignedTransaction
        /// The app is not configured.
        case unknownApp
        /// The app has no key for the App Store Server API, and there is no receipt to answer from.
        case serverAPINotConfigured
        /// The operation needs a store, and none is configured.
        case storeNotConfigured
        /// The App Store does not know the transaction.
        case transactionNotFound
        /// The store has no such notification.
        case notificationNotFound
        /// The customer's account no longer exists.
        case accountNotFound
        /// The time in which Apple accepts the information is over.
        case deadlinePassed
        /// Not signed by the App Store, or the signature does not match this text.
        case notAuthentic
        /// The app denies sandbox purchases.
        case sandboxDenied
        /// The customer did not consent, so Apple does not allow the call.
        case consentMissing
        /// The input breaks one of Apple's rules. Nothing was sent.
        case invalidInput
        /// The App Store refused the request for a reason that stays.
        case rejected
        /// The App Store's response is unusable, and a retry will not help.
        case upstreamFailed
        /// This configuration cannot tell whether it is authentic.
        case notVerifiable
        /// Authentic, but a member that decides has another type than documented.
        case unexpectedType
        /// The App Store is unavailable at the moment.
        case upstreamUnavailable
        /// The hourly rate limit is used up.
        case budgetSpent
        /// The store cannot be read or written at the moment.
        case storeUnavailable

        /// The HTTP status of the response.
        package var httpStatus: Int {
            switch self {
            case .malformedRequest, .malformedTransactionId, .malformedOrderId, .malformedAccountToken,
                .bundleIdRequired, .notAReceipt, .notASignedTransaction:
                400
            case .unknownApp, .serverAPINotConfigured, .storeNotConfigured, .transactionNotFound,
                .notificationNotFound, .accountNotFound:
                404
            case .deadlinePassed: 409
            case .notAuthentic, .sandboxDenied, .consentMissing, .invalidInput, .rejected: 422
            case .upstreamFailed: 502
            case .notVerifiable, .unexpectedType, .upstreamUnavailable, .budgetSpent, .storeUnavailable: 503
            }
        }

        /// Whether the failure is on the App Store's side, and says nothing about the customer.
        var isAppStoreFailure: Bool { [.upstreamFailed, .upstreamUnavailable, .budgetSpent].contains(self) }
    }

    /// The kind of failure.
    package let code: Code
    /// A sentence that names nothing of a receipt or a customer.
    package let reason: String
    /// The number of seconds after which a retry may succeed; `nil` if a retry will not help.
    package let retryAfter: Int?
    /// Whether the App Store rejects the app's key. The same request succeeds after the key or the configuration is
    /// fixed.
    package let isKeyRefused: Bool

    package init(_ code: Code, _ reason: String, retryAfter: Int? = nil, isKeyRefused: Bool = false) {
        (self.code, self.reason, self.retryAfter, self.isKeyRefused) = (code, reason, retryAfter, isKeyRefused)
    }

    /// The code and the reason, for example `transactionNotFound: the App Store does not know this transaction`.
    package var description: String { "\(code.rawValue): \(reason)" }
}

/// Maps failures of decoding, signature checks and the Server API. No other place does.
extension OperationError {
    /// The `Retry-After` if the App Store sends none, in seconds.
    private static let defaultRetryAfter = 10

    init(_ error: ReceiptDecodingError) {
        switch error.verdict {
        case .notAReceipt: self.init(.notAReceipt, "\(error.place): \(error.reason)")
        case .forged: self.init(.notAuthentic, "\(error.place): \(error.reason)")
        case .notJudged:
            self.init(.notVerifiable, "\(error.place): \(error.reason)", retryAfter: Self.defaultRetryAfter)
        }
    }

    init(_ error: SignedPayloadError) {
        let reason = "\(error.place): \(error.reason)"
        switch error.verdict {
        case .notOfThisKind: self.init(.notASignedTransaction, error.code == .wrongKind ? error.reason : reason)
        case .forged, .misplaced: self.init(.notAuthentic, reason)
        case .notJudged:
            self.init(
                error.code == .unexpectedType ? .unexpectedType : .notVerifiable, reason,
                retryAfter: Self.defaultRetryAfter)
        }
    }

    package init(_ error: UpstreamError) {
        if error.isUnknownTransaction || error.errorNumber == .invalidTransactionId {
            self.init(.transactionNotFound, "the App Store does not know this transaction")
        } else if error.errorNumber == .accountNotFound {
            self.init(.accountNotFound, "the customer's App Store account no longer exists")
        } else if error.code == .budgetSpent || error.code == .tooManyCalls {
            self.init(.budgetSpent, error.reason, retryAfter: Self.pause(after: error))
        } else if error.isTemporary {
            let reason = "the App Store is unavailable at the moment (\(error.code.rawValue))"
            self.init(.upstreamUnavailable, reason, retryAfter: Self.pause(after: error))
        } else {
            self.init(
                .upstreamFailed, "the App Store's response is unusable (\(error.code.rawValue))",
                isKeyRefused: error.code == .unauthorized)
        }
    }

    /// The `Retry-After` in whole seconds, at least 1.
    private static func pause(after error: UpstreamError) -> Int {
        error.retryAfter.map { max(1, Int(($0 / .seconds(1)).rounded(.up))) } ?? defaultRetryAfter
    }
}
