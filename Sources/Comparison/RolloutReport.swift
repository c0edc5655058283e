package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The state of an app's gradual switch to another source, for people and programs.
package struct RolloutReport: Sendable, Hashable {
    package let bundleId: String
    /// The source that is asked first.
    package let source: String
    /// The configured share of the customers, in percent.
    package let percent: Double
    /// The configured share of differing customers above which the rollout stops, in percent.
    package let stopAt: Double
    package let phase: RolloutPhase
    /// The share of the customers now, in percent: ``percent`` or 0.
    package let share: Double
    package let compared: Int64
    /// Number of compared customers with an unexpected difference.
    package let different: Int64
    /// Number of customers that must be compared before the rollout can stop.
    package let minimumCustomers: Int64
    package let startedAt: Timestamp?
    package let stoppedAt: Timestamp?

    package init(
        bundleId: String, source: String, percent: Double, stopAt: Double, phase: RolloutPhase, share: Double,
        compared: Int64,
        different: Int64, minimumCustomers: Int64, startedAt: Timestamp?, stoppedAt: Timestamp?
    ) {
        (self.bundleId, self.source, self.percent, self.stopAt) = (bundleId, source, percent, stopAt)
        (self.phase, self.share, self.compared, self.different) = (phase, share, compared, different)
        (self.minimumCustomers, self.startedAt, self.stoppedAt) = (minimumCustomers, startedAt, stoppedAt)
    }

    /// The state in one or two sentences.
    package var sentence: String {
        let found = "\(different) of \(compared) compared customers differ unexpectedly"
        let percentage = "\(percent.shortText) % of the customers"
        switch phase {
        case .starting:
            return "\(percentage) will be answered by \(source) first, as soon as the store has been read."
        case .unknown:
            return """
                The share of \(source) is 0, because the store cannot be read: the rollout may have stopped. It \
                continues when the store works again.
                """
        case .running where compared < minimumCustomers:
            return """
                \(percentage) are answered by \(source) first. \(found); \(minimumCustomers) are needed to judge it.
                """
        case .running:
            return "\(percentage) are answered by \(source) first. \(found); it stops above \(stopAt.shortText) %."
        case .stopped:
            return """
                Stopped: \(found), more than \(stopAt.shortText) %. The share of \(source) is 0 until the block rollout \
                has other values.
                """
        }
    }
}

extension Double {
    /// The number without a trailing `.0`. For example, `5` and `0.5`.
    fileprivate var shortText: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
