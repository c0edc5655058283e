import ReceiptBridgeBase
import Logging
import ReceiptBridgeCore
import ServiceLifecycle
import ReceiptBridgeStorage

/// Fetches the notifications that the store lacks, see ``NotificationGapFiller``.
struct NotificationGapMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Time between two looks for gaps, and the pause after an attempt that failed.
    private static let (interval, pause) = (Duration.seconds(5).atTestSpeed(), Duration.seconds(60).atTestSpeed())

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                let receiver = live.now.pipelines.notifications
                let outcome = await NotificationGapFiller(receiver: receiver, store: store, logger: logger).fill()
                try? await Task.sleep(for: outcome == .failed ? Self.pause : Self.interval)
            }
        }
    }
}
