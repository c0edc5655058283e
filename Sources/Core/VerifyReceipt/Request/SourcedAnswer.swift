package import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeResponses
package import ReceiptBridgeTransport

/// A verifyReceipt response, its source, and what it was made from, before it becomes an HTTP response.
package struct SourcedAnswer: Sendable {
    package let answer: Answer
    /// The source, as in the header `Receipt-Bridge-Source`.
    package let source: AnswerSource
    /// The environment, as in the header `Receipt-Bridge-Environment`.
    package let environment: AppStoreEnvironment
    /// The bundle id of the receipt; `nil` if it is not authentic, and for signed transactions.
    package internal(set) var authenticApp: BundleIdentifier?
    /// The bundle id of the app whose configuration was used. The receipt may only claim it: it need not be authentic.
    var claimedApp: BundleIdentifier?
    /// The app of the presented item if it is authentic, this app is not configured, and others are.
    package internal(set) var unconfiguredApp: BundleIdentifier?
    /// Whether the request has no password, and none is configured that could be sent instead.
    var lacksPassword = false
    /// The consumables in the records that the response was rendered from. The response itself does not say which rows
    /// are consumables.
    package internal(set) var consumables = ConsumableIdentifiers()

    package internal(set) var rollout: RolloutConfiguration?

    /// The memory of Apple's response, until it is written; `nil` for other responses.
    package var memory: ResponseReservation?

    /// What a response was made from. Indirect, because a request that waits for Apple keeps room for responses.
    package indirect enum Origin: Sendable {
        /// From the request, or from records that are not at hand.
        case rendered
        /// Apple's verifyReceipt returned it, from this environment.
        case apple(AppleResponse, from: AppStoreEnvironment)
        /// Apple's verifyReceipt returned it to an earlier request.
        case archived
        /// Rendered from records at hand, see ``DatedRecords/version``.
        case records(version: UInt64)
    }

    package var origin = Origin.rendered
    /// What the response shows, for the rules; `nil` if only its body says so.
    var purchases: ShownPurchases?

    /// The answer belongs to no app yet.
    package init(_ answer: Answer, source: AnswerSource, environment: AppStoreEnvironment, origin: Origin = .rendered) {
        (self.answer, self.source, self.environment, self.origin) = (answer, source, environment, origin)
    }

    /// Whether Apple wrote the response, now or earlier.
    var isApples: Bool {
        switch origin {
        case .apple, .archived: true
        case .rendered, .records: false
        }
    }

    /// The same answer without what it was made from, which is in memory no longer than the request is evaluated.
    var withoutOrigin: Self {
        var answer = self
        (answer.origin, answer.purchases) = (.rendered, nil)
        return answer
    }

    /// ``answer`` keeps 21005, which metrics and the log count; only the body has the configured number.
    package func body(_ outageStatus: OutageStatus) -> [UInt8] {
        answer.isOwnOutage
            ? Answer.temporarilyUnavailable(as: outageStatus.bodyStatus).body : answer.body
    }
}
