/// Why there is no view of a customer: a stable code for clients, a status for HTTP, a sentence for people.
package struct CustomerViewError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure, by the names that clients see.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The body is not a JSON object with one of the two keys.
        case malformedRequest
        /// Not 1 to 20 digits, or only zeros.
        case malformedTransactionId
        /// Several apps are configured, and none was named.
        case bundleIdRequired
        /// The text is no receipt.
        case notAReceipt
        /// The text is no signed transaction.
        case notASignedTransaction
        /// No such app is configured.
        case unknownApp
        /// The app has no key for the App Store Server API, and there is no receipt to answer from.
        case serverAPINotConfigured
        /// The App Store knows no such transaction.
        case transactionNotFound
        /// The customer's account is not there any more.
        case accountNotFound
        /// Not signed by the App Store, or not over this text.
        case notAuthentic
        /// The app takes no purchases of the sandbox.
        case sandboxDenied
        /// Whether it is authentic cannot be told here.
        case notVerifiable
        /// The App Store answered what cannot be used; asking again will not help.
        case upstreamFailed
        /// The App Store has no answer at the moment.
        case upstreamUnavailable
        /// The hourly number of calls is spent.
        case budgetSpent

        /// The status of an HTTP answer.
        package var httpStatus: Int {
            switch self {
            case .malformedRequest, .malformedTransactionId, .bundleIdRequired, .notAReceipt, .notASignedTransaction:
                400
            case .unknownApp, .serverAPINotConfigured, .transactionNotFound, .accountNotFound: 404
            case .notAuthentic, .sandboxDenied: 422
            case .upstreamFailed: 502
            case .notVerifiable, .upstreamUnavailable, .budgetSpent: 503
            }
        }

        /// Whether the App Store's side has no answer, which says nothing about the customer.
        var isAppStoreTrouble: Bool {
            switch self {
            case .upstreamFailed, .upstreamUnavailable, .budgetSpent: true
            default: false
            }
        }
    }

    /// What went wrong.
    package let code: Code
    /// A sentence with nothing of a receipt or a customer in it.
    package let reason: String
    /// Seconds after which to ask again; nil where that will not help.
    package let retryAfter: Int?
    /// Whether the App Store refuses the app's key: the same question succeeds once the key or the configuration is mended.
    package let isKeyRefused: Bool

    /// An error of the given kind.
    package init(_ code: Code, _ reason: String, retryAfter: Int? = nil, isKeyRefused: Bool = false) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
        self.isKeyRefused = isKeyRefused
    }

    /// `transactionNotFound: the App Store does not know this transaction`.
    package var description: String { "\(code.rawValue): \(reason)" }
}
