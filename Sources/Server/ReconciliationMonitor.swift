import Base
import BridgeConfiguration
import Logging
import Notifications
import ServiceLifecycle
import Storage

/// Runs the daily reconciliation of the key `reconcile`, see ``Reconciliation``, and in between looks up the customers
/// that need it. Of several servers with the same store, one does it. A server that starts later than the time of day
/// makes up for a reconciliation if no other one has done it.
struct ReconciliationMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Delay of the first look whether a reconciliation is due, and the time between two looks.
    private static let (startDelay, pause) = (
        Duration.seconds(5).atTestSpeed(), Duration.seconds(60).atTestSpeed()
    )

    /// Runs until shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard (try? await Task.sleep(for: Self.startDelay)) != nil else { return }
            var lookupsFrom = Timestamp.now
            repeat {
                await reconcileIfDue()
                if .now >= lookupsFrom, await lookUpWaiting() {
                    lookupsFrom = Timestamp.now.advanced(by: ReconciliationSchedule.pause.atTestSpeed())
                }
            } while (try? await Task.sleep(for: Self.pause)) != nil
        }
    }

    private func reconcileIfDue() async {
        // If the store is not open (yet), the code that opens it logs that.
        guard store.isOpen, let settings = live.now.settings.reconcile else { return }
        do throws(StorageError) {
            guard try await isDue() else { return }
            let schedule = ReconciliationSchedule(time: settings.time)
            let progress = ReconciliationProgress()
            let reconciliation = Reconciliation(
                receiver: live.now.pipelines.notifications, store: store, window: settings.window, progress: progress)
            if let counts = try await reconciliation.runHoldingLease(on: schedule) { log(counts) }
        } catch {
            guard !Task.isCancelled else { return }
            logger.error(
                "reconciliation stopped, because the store failed; will continue", metadata: ["reason": "\(error)"])
        }
    }

    private func isDue() async throws(StorageError) -> Bool {
        guard let settings = live.now.settings.reconcile else { return false }
        let last = try await store.reconciliations.lastReconciliation()
        return ReconciliationSchedule(time: settings.time).isDue(after: last, at: .now)
    }

    /// Looks up the customers that need it. Returns whether something failed.
    private func lookUpWaiting() async -> Bool {
        guard store.isOpen else { return false }
        let reconciliation = Reconciliation(
            receiver: live.now.pipelines.notifications, store: store, window: 0, progress: ReconciliationProgress())
        do throws(StorageError) {
            guard let counts = try await reconciliation.lookUpWaiting(until: isDue) else { return false }
            let gap = counts.gaps.first
            logger.notice(
                "customers that needed a lookup were looked up",
                metadata: [
                    "customers": .stringConvertible(counts.row.customers),
                    "different": .stringConvertible(counts.row.different),
                    "unknown": .stringConvertible(counts.unknown), "failed": .stringConvertible(counts.row.failed),
                ].merging(gap.map { ["first": "\($0.sentence)"] } ?? [:]) { first, _ in first })
            return gap != nil
        } catch {
            // The code that uses the store reports it.
            return true
        }
    }

    /// Logs the result: an error if something could not be checked.
    private func log(_ counts: ReconciliationCounts) {
        var metadata: Logger.Metadata = ["result": "\(counts.text)"]
        if let gap = counts.gaps.first { metadata["first"] = "\(gap.sentence)" }
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
}
