import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage

extension RolloutRegistry {
    /// The rollouts as a report shows them, by bundle id.
    var reports: [RolloutReport] {
        states.map { bundleId, state in
            RolloutReport(
                bundleId: bundleId.rawValue, source: state.settings.source.rawValue, percent: state.settings.percent,
                stopAt: state.settings.stopAt, phase: state.phase, share: state.percent,
                compared: state.stored?.compared ?? 0, different: state.stored?.different ?? 0,
                minimumCustomers: RolloutState.minimumCustomers, startedAt: state.stored?.startedAt,
                stoppedAt: state.stored?.stoppedAt)
        }.sorted { $0.bundleId < $1.bundleId }
    }
}
