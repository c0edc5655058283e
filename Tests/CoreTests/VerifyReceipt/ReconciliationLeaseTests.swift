import ReceiptBridgeBase
import ReceiptBridgeCore
import GRDB
import ReceiptBridgeServer
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("The lease of reconciliations")
struct ReconciliationLeaseTests {
    /// Another server ends its reconciliation after this one saw that one was due, and before it gets the lease.
    @Test("A reconciliation that another server has just ended is not repeated")
    func ended() async throws {
        let bridge = try StoringTestProxy([.api])
        let schedule = ReconciliationSchedule(time: 4 * 3_600)
        func reconcile(on schedule: ReconciliationSchedule?) async throws -> ReconciliationCounts? {
            try await Reconciliation(
                receiver: bridge.graph.notifications, store: bridge.store, window: 86_400,
                progress: ReconciliationProgress()
            ).runHoldingLease(on: schedule)
        }
        var row = ReconciliationRow(startedAt: bridge.now.advanced(by: .seconds(-2)), window: 86_400)
        row.endedAt = bridge.now.advanced(by: .seconds(-1))
        try await bridge.store.reconciliations.save(row)
        #expect(try await reconcile(on: schedule) == nil)
        #expect(try await bridge.store.reconciliations.lastReconciliation() == row)
        #expect(try await reconcile(on: nil)?.row.startedAt == bridge.now)
        bridge.now = bridge.now.advanced(by: .days(1))
        #expect(try await reconcile(on: schedule)?.row.startedAt == bridge.now)
    }

    @Test("Ends and tokens that a damaged store does not take are not added without an end", .timeLimit(.minutes(1)))
    func stuck() async throws {
        let bridge = try StoringTestProxy([.api])
        try await DatabaseQueue(path: bridge.store.place).write { db in
            try db.execute(
                sql: """
                    INSERT INTO app (bundleId, environment) VALUES ('com.example.app', 'Production');
                    INSERT INTO transactionRecord
                        (app, transactionId, originalTransactionId, appTransactionId, place, signedDate, text)
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
                    SELECT (SELECT max(id) FROM app), i, i, '7', 0, 1, 'a' FROM n;
                    CREATE TRIGGER stuck BEFORE UPDATE ON transactionRecord BEGIN SELECT RAISE(IGNORE); END
                    """)
        }
        let monitor = AccountTokenMonitor(store: bridge.store, logger: .silent)
        #expect(await !monitor.addPage())
        let counts = try await Reconciliation(
            receiver: bridge.graph.notifications, store: bridge.store, window: 86_400,
            progress: ReconciliationProgress()
        ).runHoldingLease(on: nil)
        #expect(counts != nil)
    }
}
