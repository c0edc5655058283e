import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Notifications while the store is unavailable")
struct NotificationGapTests {
    @Test("Notifications that were refused are fetched from the history as soon as the store can be written again")
    func refused() async throws {
        let stage = try await CommandFixture(customers: 8)
        let path = stage.folder.path("bridge.sqlite")
        let proxy = try await stage.serve()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let locked = try DatabaseQueue(path: path, configuration: configuration)
        try await locked.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        try await stage.notify(proxy)
        stage.appStore.simulate(1, seed: 7)
        #expect(await eventually { proxy.errors.contains("notification rejected") })
        try await locked.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        let stored = {
            try locked.read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM notification") }
        }
        #expect(await eventually { (try? stored()) == 1 })
        // The App Store did not repeat it.
        #expect(stage.appStore.outbox.counts.delivered == 0)
        await proxy.finish()
        #expect(proxy.errors.contains("fetched notifications that the store lacked"), "\(proxy.errors)")
    }
}
