import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import Logging
import ServiceLifecycle
package import ReceiptBridgeStorage
import ReceiptBridgeCore

/// Adds the account tokens of transactions that an earlier version stored, so that their customers are found by them.
/// Does nothing once all are added.
package struct AccountTokenMonitor: Service {
    let store: any Store
    let logger: Logger

    package init(store: any Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    private static let pageSize = 500
    /// Delay of the start, the pause between two pages, and the pause after a failure and after the last page. A server
    /// of an earlier version with the same store can add transactions without a token.
    private static let (startDelay, pause, idle) = (
        Duration.seconds(30).atTestSpeed(), Duration.milliseconds(100), Duration.seconds(600).atTestSpeed()
    )

    package func run() async throws {
        try await PeriodicService(delay: Self.startDelay) {
            let hasMore = store.isOpen ? await addPage() : false
            return hasMore ? Self.pause : Self.idle
        }.run()
    }

    /// Adds the tokens of one page. Returns whether there may be more.
    package func addPage() async -> Bool {
        do throws(StorageError) {
            let page = try await store.customers.transactionsWithoutToken(limit: Self.pageSize)
            guard !page.isEmpty else { return false }
            try await store.customers.addTokens(
                page.map { row in
                    (row.id, Signed<TransactionPayload>(storedText: row.text)?.payload.storedAccountToken ?? "")
                })
            guard page.count == Self.pageSize else { return false }
            // A page that comes again was not changed, because the store is damaged.
            return try await store.customers.transactionsWithoutToken(limit: 1).first?.id != page.first?.id
        } catch {
            guard !Task.isCancelled else { return false }
            logger.error("account tokens cannot be added to the store; will retry", metadata: ["reason": "\(error)"])
            return false
        }
    }
}
