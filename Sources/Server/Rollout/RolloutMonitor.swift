import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ServiceLifecycle
import ReceiptBridgeStorage
import ReceiptBridgeComparison

/// Exchanges the rollouts with the store every second: customers that were compared here and by other servers, and
/// rollouts that have stopped.
struct RolloutMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Time between two exchanges. So a server knows within two seconds that another one has stopped a rollout.
    private static let pause = Duration.seconds(1).atTestSpeed()

    /// Exchanges until shutdown, and once more after it.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var isFailing = false
            repeat { await synchronize(&isFailing) } while (try? await Task.sleep(for: Self.pause)) != nil
        }
        var isFailing = true
        await synchronize(&isFailing)
    }

    private func synchronize(_ isFailing: inout Bool) async {
        let (settings, rollouts) = (live.now.settings, live.now.pipelines.rollouts)
        rollouts.apply(settings)
        var failure: StorageError?
        for bundleId in rollouts.states.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            do throws(StorageError) {
                guard let change = try await rollouts.synchronize(bundleId, with: store.comparisons, at: .now) else {
                    continue
                }
                log(change.old, change.new, of: bundleId)
            } catch {
                failure = error
            }
        }
        // If the store is not open (yet), the code that opens it logs that. A failure is logged once, until an exchange
        // succeeds.
        if let failure, !isFailing, store.isOpen, !Task.isCancelled {
            logger.error(
                "cannot exchange rollouts with the store; they pause after 10 seconds, and continue when it works again",
                metadata: ["reason": "\(failure)"])
        }
        isFailing = failure != nil
    }

    private func log(_ old: RolloutState, _ new: RolloutState, of bundleId: BundleIdentifier) {
        guard old.phase != new.phase, let stored = new.stored else { return }
        let metadata: Logger.Metadata = [
            "bundleId": "\(bundleId)", "source": "\(new.settings.source.rawValue)",
            "percent": .stringConvertible(new.settings.percent), "stopAt": .stringConvertible(new.settings.stopAt),
            "compared": .stringConvertible(stored.compared), "different": .stringConvertible(stored.different),
        ]
        switch new.phase {
        case .stopped:
            logger.error(
                """
                rollout stopped: too many customers would get another response from Apple; the app is answered by its \
                usual sources until its rollout block has other values
                """, metadata: metadata)
        case .running:
            logger.notice("rollout is running", metadata: metadata)
        case .starting, .unknown: break
        }
    }
}

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
