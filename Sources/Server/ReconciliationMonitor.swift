import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ServiceLifecycle
import ReceiptBridgeStorage

/// Runs the daily reconciliation of the key `reconcile`, see ``Reconciliation``, and beside it looks up the customers
/// that need it. Of several servers with the same store, one does each of them. A server that starts later than the
/// time of day makes up for a reconciliation if no other one has done it.
struct ReconciliationMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Time between two looks whether a reconciliation is due: one that the store or the App Store interrupted is
    /// continued soon after they are back.
    private static let pause = Duration.seconds(5).atTestSpeed()
    /// Time between two rounds of lookups, and between two log lines of a reconciliation that runs.
    private static let (lookupPause, reportPause) = (
        Duration.seconds(60).atTestSpeed(), Duration.minutes(10).atTestSpeed()
    )

    func run() async throws {
        await cancelWhenGracefulShutdown {
            async let lookups: Void = lookUpWaiting()
            while (try? await Task.sleep(for: Self.pause)) != nil { await reconcileIfDue() }
            await lookups
        }
    }

    private func reconcileIfDue() async {
        // If the store is not open (yet), the code that opens it logs that. The code that uses it reports its failures.
        guard store.isOpen, let settings = live.now.settings.reconcile else { return }
        let schedule = ReconciliationSchedule(time: settings.time)
        let progress = ReconciliationProgress()
        let reconciliation = Reconciliation(
            receiver: live.now.graph.notifications, store: store, window: settings.window, progress: progress)
        do throws(StorageError) {
            let last = try await store.reconciliations.lastReconciliation()
            guard schedule.isDue(after: last, at: .now) else { return }
            let reports = Task { await report(progress) }
            defer { reports.cancel() }
            if let counts = try await reconciliation.runHoldingLease(on: schedule) { log(counts) }
        } catch {
            guard progress.hasBegun, !Task.isCancelled else { return }
            logger.error(
                "reconciliation stopped, because the store failed; will continue", metadata: ["reason": "\(error)"])
        }
    }

    private func lookUpWaiting() async {
        let failures = AppFailures()
        try? await Task.sleep(for: Self.pause)
        repeat {
            guard store.isOpen else { continue }
            let reconciliation = Reconciliation(
                receiver: live.now.graph.notifications, store: store, window: 0,
                progress: ReconciliationProgress(), failures: failures)
            guard let counts = (try? await reconciliation.lookUpWaiting()) ?? nil,
                counts.row.customers + counts.unknown + counts.row.failed > 0
            else { continue }
            logger.notice(
                "customers that needed a lookup were looked up",
                metadata: [
                    "customers": .stringConvertible(counts.row.customers),
                    "different": .stringConvertible(counts.row.different),
                    "unknown": .stringConvertible(counts.unknown), "failed": .stringConvertible(counts.row.failed),
                ].merging(first(counts)) { first, _ in first })
        } while (try? await Task.sleep(for: Self.lookupPause)) != nil
    }

    private func report(_ progress: ReconciliationProgress) async {
        while (try? await Task.sleep(for: Self.reportPause)) != nil {
            // Another server has the lease.
            guard progress.hasBegun else { continue }
            var metadata: Logger.Metadata = ["result": "\(progress.now.text)"]
            let waits = live.now.graph.budgets.compactMap(\.waits)
            if !waits.isEmpty { metadata["waitsFor"] = "\(waits.joined(separator: "; "))" }
            logger.notice("reconciliation is running", metadata: metadata)
        }
    }

    private func log(_ counts: ReconciliationCounts) {
        let metadata: Logger.Metadata = ["result": "\(counts.text)"].merging(first(counts)) { first, _ in first }
        if !counts.row.isFinished {
            logger.log(
                level: counts.row.continuesAt == nil ? .notice : .error,
                "reconciliation stopped early; it will be continued", metadata: metadata)
        } else if counts.isComplete {
            logger.notice("reconciliation ended", metadata: metadata)
        } else {
            logger.error("reconciliation ended; not everything could be asked about", metadata: metadata)
        }
    }

    private func first(_ counts: ReconciliationCounts) -> Logger.Metadata {
        counts.gaps.first.map { ["first": "\($0.sentence)"] } ?? [:]
    }
}
