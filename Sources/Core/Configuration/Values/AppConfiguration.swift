package import ReceiptBridgeAppStore
package import ReceiptBridgeBase
package import ReceiptBridgeResponses

/// The configuration of one app: how its receipts are answered, and where its notifications are forwarded.
package struct AppConfiguration: Sendable {
    /// Handling of requests without a password.
    package enum ClientPassword: String, Sendable, CaseIterable {
        /// The configured shared secret is used instead of a missing password.
        case optional
        /// 21004 if the password is missing and the receipt has auto-renewable subscriptions.
        case required
    }

    package enum SandboxPolicy: String, Sendable, CaseIterable {
        /// Answered. App Review needs this, because it tests production builds in the sandbox.
        case allow
        /// Refused with 21003.
        case deny
    }

    /// Handling of a purchase that another user presented before. Needs `userHeader`.
    package enum Replay: String, Sendable, CaseIterable {
        /// Purchases are not compared.
        case off
        /// Counted and logged.
        case report
        /// Counted, logged and refused with 21003.
        case refuse
    }

    /// Handling of a receipt whose subscription has expired according to the receipt but may have been renewed since,
    /// if no other source is available.
    package enum StaleSubscription: String, Sendable, CaseIterable {
        /// 21005, which asks the client to retry.
        case retry
        /// The receipt's own response, which may be out of date.
        case answer
    }

    /// Handling of an authentic receipt whose transactions the Server API does not know (4040010).
    package enum UnknownTransaction: String, Sendable, CaseIterable {
        /// The receipt's own response, unless it may be out of date.
        case receipt
        /// 21010, which tells clients not to retry.
        case accountNotFound
    }

    /// Handling of a consumable in an App Receipt that was refunded according to the records of `api` and `stored`.
    package enum RefundedConsumables: String, Sendable, CaseIterable {
        /// The response has no row for it.
        case drop
        /// Its row is as in the receipt, without a sign of the refund.
        case keep
    }

    /// Handling of signed transactions in `receipt-data`.
    package enum SignedTransactions: String, Sendable, CaseIterable {
        /// Answered by the sources other than `apple`.
        case answer
        /// Refused with 21002, as Apple does.
        case refuse
    }

    /// `nil` only if the bundle id is missing or invalid.
    package var bundleId: BundleIdentifier?
    /// The app's number in the App Store. It is checked in production notifications and appears in responses.
    package var appAppleId: Int64?
    /// The current shared secret. It is sent to Apple instead of a missing or previous password.
    package var sharedSecret: SharedSecret?
    /// Previous shared secrets that clients may still send. They count as right.
    package var acceptedSecrets: [SharedSecret] = []
    package var clientPassword = ClientPassword.optional
    /// Applies to all sandbox receipts, unless ``testers`` is set.
    package var sandbox = SandboxPolicy.allow
    /// Sandbox receipts to answer; `nil` if ``sandbox`` applies to all of them.
    package var testers: SandboxAllowlist?
    package var replay = Replay.report
    package var signedTransactions = SignedTransactions.answer
    /// Sources of the response, each the fallback of the one before.
    package var answer: [AnswerSource] = [.apple, .receipt]
    package var staleSubscription = StaleSubscription.retry
    /// Used if Apple's verifyReceipt is not one of the later sources.
    package var unknownTransaction = UnknownTransaction.receipt
    /// How long a customer's records from the Server API are cached, in seconds, at most 3600. 0 disables the cache.
    package var cacheSeconds: Int64 = 60
    /// How long a customer's stored records are used without a Server API call, in seconds since the last complete
    /// lookup; at most 30 days. Notifications that arrive in the meantime are merged into them.
    package var storedMaxAge = Seconds.day
    /// The notifications after which the customer is looked up again.
    package var recheck: [NotificationPattern] = []

    package var serverAPI: ServerAPIAccount?
    /// The order of `latest_receipt_info` in responses that are rendered here.
    package var latestReceiptInfoOrder = AnswerOptions.Order.apple
    package var refundedConsumables = RefundedConsumables.drop
    /// The source that is queried after the response is sent, to compare its result with the response.
    package var shadow: AnswerSource?
    /// The fraction of responses that are compared, 0 to 1.
    package var shadowSampling = 1.0
    package var rollout: RolloutConfiguration?
    package var comparisonRules: [String: RuleOverride] = [:]
    package var forward: [ForwardTarget] = []

    package var isCompared: Bool { shadow != nil && shadowSampling > 0 || rollout != nil }

    package init(bundleId: BundleIdentifier?) { self.bundleId = bundleId }
}

/// An answer source, as in the configuration key `answer:`. Each source is the fallback of the one before.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
    /// Apple's verifyReceipt; its response is returned byte for byte.
    case apple
    /// The App Store Server API, for authenticated receipts.
    case api
    /// Stored records from the App Store Server API and from notifications, for authenticated receipts.
    case stored
    /// The authenticated receipt alone.
    case receipt

    /// Whether the source needs a request to the App Store.
    package var needsUpstream: Bool { self == .apple || self == .api }
}
