import AppStoreClients
package import AppStorePayloads
package import Base
package import BridgeConfiguration
import ReceiptDecoding
package import Responses
package import Transport

/// A verifyReceipt response and its source, before it becomes an HTTP response.
package struct VerifyReceiptResult: Sendable {
    package let answer: VerifyReceiptAnswer
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

    /// The rollout that put its source first for this request; `nil` if none did.
    package internal(set) var rollout: RolloutConfiguration?

    /// The memory of Apple's response, until it is written; `nil` for other responses.
    package var memory: ResponseReservation?

    /// The result belongs to no app yet.
    package init(_ answer: VerifyReceiptAnswer, source: AnswerSource, environment: AppStoreEnvironment) {
        self.answer = answer
        self.source = source
        self.environment = environment
    }

    /// Returns the JSON for the client. ``answer`` keeps 21005, which metrics and the log count; only the body has the
    /// configured number.
    package func body(_ outageStatus: OutageStatus) -> [UInt8] {
        answer.isOwnOutage
            ? VerifyReceiptAnswer.temporarilyUnavailable(as: outageStatus.bodyStatus).body : answer.body
    }
}
