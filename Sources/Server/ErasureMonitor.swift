import Ledger
import Logging
import Pipeline
import ServiceLifecycle
import Shadowing

/// Empties this process's memory of customers when somebody was erased from the store, by whatever process.
///
/// Of whom it was nothing is written down, so that everybody's goes; it is read again when it is asked for.
struct ErasureMonitor: Service {
    let store: Store
    let live: ReloadableState
    let shadow: Shadow?
    let logger: Logger

    private static let pause = Duration.seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last = try? await store.lastErasure()
            var isSaid = false
            while (try? await Task.sleep(for: Self.pause)) != nil {
                do throws(StorageError) {
                    let now = try await store.lastErasure()
                    isSaid = false
                    guard now != last else { continue }
                    try live.now.pipelines.invalidateErasedCustomers(in: store)
                    shadow?.removePairs()
                    last = now
                    logger.notice("customer data was erased from the store; in-memory caches cleared")
                } catch {
                    // This process was asked to stop while the store was read.
                    guard !Task.isCancelled else { return }
                    // That it is not open yet, or again, others say.
                    if !isSaid, store.isOpen {
                        logger.error(
                            "cannot check the store for erased customers; will retry", metadata: ["reason": "\(error)"])
                        isSaid = true
                    }
                }
            }
        }
    }
}
