package import ReceiptBridgeAppStore
import ReceiptBridgeStorage

/// The reason why an operation has no result: a stable code for clients, an HTTP status, and a sentence for people.
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
        /// The app is not configured.
        case unknownApp
        /// The app has no key for the App Store Server API.
        case serverAPINotConfigured
        /// The operation needs a store, and none is configured.
        case storeNotConfigured
        /// The App Store does not know the transaction.
        case transactionNotFound
        /// The store has no such notification.
        case notificationNotFound
        /// The customer's account no longer exists.
        case accountNotFound
        /// The customer did not consent, so Apple does not allow the call.
        case consentMissing
        /// The time in which Apple accepts the information is over.
        case deadlinePassed
        /// The input breaks one of Apple's rules. Nothing was sent.
        case invalidInput
        /// The App Store refused the request for a reason that stays.
        case rejected
        /// The App Store's response is unusable, and a retry will not help.
        case upstreamFailed
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
                .bundleIdRequired:
                400
            case .unknownApp, .serverAPINotConfigured, .storeNotConfigured, .transactionNotFound,
                .notificationNotFound, .accountNotFound:
                404
            case .deadlinePassed: 409
            case .consentMissing, .invalidInput, .rejected: 422
            case .upstreamFailed: 502
            case .upstreamUnavailable, .budgetSpent, .storeUnavailable: 503
            }
        }
    }

    package let code: Code
    /// A sentence that names nothing of a customer.
    package let reason: String
    /// The number of seconds after which a retry may succeed; `nil` if a retry will not help.
    package let retryAfter: Int?

    package init(_ code: Code, _ reason: String, retryAfter: Int? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    package var description: String { "\(code.rawValue): \(reason)" }
}

/// Maps the errors of the parts to those of an operation. No other place does.
extension OperationError {
    /// The `Retry-After` of a store that cannot be used, in seconds.
    private static let storeRetryAfter = 10

    package init(_ error: any Error) {
        switch error {
        case let error as OperationError: self = error
        case let error as InvalidOperation: self.init(Code(error.kind), error.reason)
        case let error as StorageError:
            self.init(
                .storeUnavailable, "the store cannot be used at the moment (\(error.code.rawValue))",
                retryAfter: Self.storeRetryAfter)
        case let error as CustomerViewError: self.init(error)
        case let error as UpstreamError:
            if error.isFinal, !error.isUnknownTransaction, error.errorNumber != .accountNotFound {
                self.init(.rejected, "the App Store refused the request: \(error.errorNumber?.meaning ?? error.reason)")
            } else {
                self.init(CustomerViewError(error))
            }
        default: self.init(.upstreamFailed, "the operation failed")
        }
    }

    private init(_ error: CustomerViewError) {
        let code = Code(rawValue: error.code.rawValue) ?? .upstreamFailed
        self.init(code, error.reason, retryAfter: error.retryAfter)
    }
}

extension OperationError.Code {
    fileprivate init(_ kind: InvalidOperation.Kind) {
        switch kind {
        case .input: self = .invalidInput
        case .consent: self = .consentMissing
        case .deadline: self = .deadlinePassed
        }
    }
}

extension UpstreamError {
    /// `true` if the App Store refused this request for a reason that stays.
    package var isFinal: Bool { code == .refused && !isTemporary && httpStatus != 429 }
}
