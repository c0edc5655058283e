import ReceiptBridgeBase
package import ReceiptBridgeReceipts
package import ReceiptBridgeStorage

/// The label `status`. Each status from 0 and 21000 to 21010 has its own value; 21100 to 21199 share `211xx`, and all
/// others share `other`.
package struct StatusLabel: MetricLabel {
    private static let names = ["0"] + (21_000...21_010).map { String($0) } + ["211xx", "other"]

    package let index: Int

    private init(index: Int) { self.index = index }

    init(_ status: VerifyReceiptStatus) {
        switch status.rawValue {
        case 0: index = 0
        case 21_000...21_010: index = status.rawValue - 21_000 + 1
        case 21_100...21_199: index = Self.names.count - 2
        default: index = Self.names.count - 1
        }
    }

    package static var allCases: [Self] { names.indices.map { Self(index: $0) } }

    package var text: String { Self.names[index] }
}

extension AnswerSource: MetricLabel {}

extension ReceiptDecodingError.Code: MetricLabel {}

extension ReceiptRepair: MetricLabel {}

extension RefundDecision: MetricLabel {}

/// The label for the result of a cache lookup.
package enum HitLabel: MetricLabel {
    case hit, miss
}

/// The label for an accepted notification. A repeated one was stored before, and gets the same response as a new one.
package enum NotificationLabel: MetricLabel {
    case stored, repeated
}

/// The label for what the App Store says about a denial.
package enum ConfirmationLabel: MetricLabel {
    case confirmed
    /// Something changed, so the customer is looked up.
    case changed
}

/// The label for the outcome of one attempt to forward a notification.
package enum DeliveryLabel: MetricLabel {
    case delivered
    /// The target's form has no body for this notification, so nothing was sent.
    case nothing
    /// The attempt failed and will be retried.
    case failed
    /// The delivery was given up after its last attempt.
    case dead
}

/// The label for the outcome of a shadow comparison.
package enum ComparisonLabel: MetricLabel {
    case equal
    /// The comparison found at least one difference.
    case different
    /// The second source had no response to compare with.
    case failed
    /// The comparison was skipped because too many were waiting.
    case dropped
}

/// The label for what became of a response of a rollout.
package enum RolloutLabel: MetricLabel {
    /// The comparison found no unexpected difference.
    case equal
    /// The comparison found an unexpected difference.
    case different
    /// There was no response of the previous source to compare with.
    case failed
    /// The comparison was skipped because too many were waiting.
    case dropped
    /// Another source answered, or a rule refused the request, so there was nothing to compare.
    case otherSource
    /// The response came from the app's usual sources, because earlier ones had to be compared first.
    case waiting
}

/// The label for the class of a difference.
package enum DifferenceLabel: MetricLabel {
    case expected, unexpected
}
