import ReceiptBridgeBase
import Logging
import ServiceLifecycle
import ReceiptBridgeStorage
import ReceiptBridgeCore

/// Reads every second what other servers stored, so that nothing outdated stays in memory, compares this machine's
/// clock with the database's, and records that this server runs.
struct ClusterMonitor: Service {
    let cluster: ServerCluster
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    private static let pause = Duration.seconds(1)
    /// Number of reads between two records that this server runs, and between two deletions of old changes.
    private static let (checkInInterval, expiryInterval) = (5, 60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var position: ChangePosition?
            var (number, isLogged) = (0, false)
            repeat {
                do throws(StorageError) {
                    if number % Self.checkInInterval == 0 { try await cluster.checkIn() }
                    position = try await read(since: position)
                    if number % Self.expiryInterval == 0 { try await cluster.store.expireChanges() }
                    isLogged = false
                } catch {
                    // If the store is not open (yet), the code that opens it logs that.
                    if !isLogged, store.isOpen, !Task.isCancelled {
                        logger.error(
                            "cannot read the changes by other servers; will retry", metadata: ["reason": "\(error)"])
                        isLogged = true
                    }
                }
                number += 1
            } while (try? await Task.sleep(for: Self.pause)) != nil
        }
        await live.now.pipelines.giveBackCalls()
        try? await cluster.checkOut()
    }

    private func read(since position: ChangePosition?) async throws(StorageError) -> ChangePosition {
        let (services, begin) = (live.now.pipelines, Timestamp.now)
        var page = try await cluster.store.changes(since: position)
        record(ClockDifference(of: page.time, readBetween: begin, and: .now))
        try await services.apply(page, from: store)
        while page.hasMore {
            page = try await cluster.store.changes(since: page.position)
            try await services.apply(page, from: store)
        }
        return page.position
    }

    /// Logs a difference between the clocks when it becomes too large and when it ends.
    private func record(_ difference: ClockDifference) {
        switch cluster.record(difference) {
        case true: logger.warning("\(difference.description)", metadata: ["code": "clockDiffersFromDatabase"])
        case false: logger.notice("this machine's clock and the database's agree again")
        case nil: break
        }
    }
}
