import ReceiptBridgeBase
import Logging
import ServiceLifecycle
import ReceiptBridgeStorage
import ReceiptBridgeCore

/// Clears this process's in-memory caches of customer data after any process has erased a customer from the store.
///
/// The store does not record which customer was erased, so the caches of all customers are cleared. They are filled
/// from the store again when the data is needed.
struct ErasureMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let shadow: Shadow?
    let logger: Logger

    private static let pause = Duration.seconds(5).atTestSpeed()

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last = try? await store.personalData.lastErasure()
            var isLogged = false
            while (try? await Task.sleep(for: Self.pause)) != nil {
                do throws(StorageError) {
                    let now = try await store.personalData.lastErasure()
                    isLogged = false
                    guard now != last else { continue }
                    try await live.now.pipelines.invalidateErasedCustomers(in: store)
                    shadow?.removePairs()
                    last = now
                    logger.notice("customer data was erased from the store; in-memory caches cleared")
                } catch {
                    // The process was asked to stop during the read.
                    guard !Task.isCancelled else { return }
                    // If the store is not open (yet), the code that opens it logs that. Each failure is logged once,
                    // until a check succeeds.
                    if !isLogged, store.isOpen {
                        logger.error(
                            "cannot check the store for erased customers; will retry", metadata: ["reason": "\(error)"])
                        isLogged = true
                    }
                }
            }
        }
    }
}
