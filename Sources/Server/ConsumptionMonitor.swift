import ReceiptBridgeBase
import Logging
import ReceiptBridgeCore
import ServiceLifecycle
import ReceiptBridgeStorage

/// Finds out whether purchases were refunded after Apple asked about them, see `RefundDecisions`: first a minute after
/// the start, then every five minutes. Of several servers with the same store, one does it.
struct ConsumptionMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Delay of the first run, and the time between two runs.
    private static let (startDelay, pause) = (Duration.seconds(60).atTestSpeed(), Duration.seconds(300).atTestSpeed())

    func run() async throws {
        try await PeriodicService(delay: Self.startDelay) {
            await settle()
            return Self.pause
        }.run()
    }

    private func settle() async {
        // Without a store there is nothing to do; the code that opens it logs failures.
        guard store.isOpen, let decisions = live.now.pipelines.operations.refundDecisions else { return }
        do throws(StorageError) {
            let settled = try await TaskLease.whileHolding(.refundDecisions, in: store.leases) {
                isHeld throws(StorageError) in
                try await decisions.settle { await isHeld() && !Task.isCancelled }
            }
            guard let settled, !settled.isEmpty else { return }
            logger.notice(
                "refund decisions: purchases were looked at 48 hours after Apple asked about them",
                metadata: .init(
                    uniqueKeysWithValues: settled.map {
                        ($0.key.rawValue, Logger.MetadataValue.stringConvertible($0.value))
                    })
            )
        } catch {
            guard !Task.isCancelled else { return }
            logger.error(
                "refund decisions cannot be stored; will retry in five minutes", metadata: ["reason": "\(error)"])
        }
    }
}
