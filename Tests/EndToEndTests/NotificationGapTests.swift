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
        let proxy = try stage.start("serve", "--listen", "127.0.0.1:0")
        let address = "http://127.0.0.1:\(try await proxy.port())/v1/notifications"
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let locked = try DatabaseQueue(path: path, configuration: configuration)
        try await locked.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        try await stage.ask("POST", "/notifications/targets", .object(["url": .string(address)]))
        try await stage.ask("POST", "/events", .object(["count": .number(1), "seed": .number(7)]))
        #expect(await eventually { proxy.errors.contains("notification rejected") })
        try await locked.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        let stored = {
            try locked.read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM notification") }
        }
        #expect(await eventually { (try? stored()) == 1 })
        // The App Store did not repeat it.
        #expect(try await stage.ask("GET", "/notifications/deliveries")["delivered"]?.integer == 0)
        proxy.stop()
        #expect(await proxy.end() == 0)
        #expect(proxy.errors.contains("fetched notifications that the store lacked"), "\(proxy.errors)")
        await stage.stop()
    }
}
