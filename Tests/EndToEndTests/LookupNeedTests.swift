import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Customers whose stored records may lack something")
struct LookupNeedTests {
    /// How the store came to lack refunds.
    enum Story: String, CaseIterable, CustomTestStringConvertible {
        case restored = "restored from a backup"
        case restoredWithoutHistory = "restored from a backup, and Apple's history cannot be read"
        case switchedOn = "notifications and `stored` switched on in the same minute"

        var testDescription: String { rawValue }
    }

    /// A simulated App Store whose customers were looked up, and a running server.
    private final class Stage: Sendable {
        let fixture: CommandFixture

        init(customers: Int = TestSize.pick(debug: 12, release: 200)) async throws {
            fixture = try await CommandFixture(customers: customers)
            for (name, store, answer) in [
                ("api.yaml", "sqlite:bridge.sqlite", "[api]"), ("stored.yaml", "sqlite:bridge.sqlite", "[stored, api]"),
                ("fresh.yaml", "none", "[api]"),
            ] {
                try fixture.configure(name, store: store, answer: answer, more: "\n    cacheSeconds: 0\n")
            }
        }

        /// Lets the App Store send a first notification, about a customer of its own, to a server.
        func notify(_ server: Running) async throws {
            try await fixture.notify(server)
            fixture.appStore.simulate(1, seed: 7)
            #expect(await eventually { (try? await self.rows("SELECT count(*) FROM notification")) == 1 })
        }

        /// Refunds a purchase of each customer with one. No notification of it is delivered.
        func refund() throws -> Int {
            var lost = DeliveryOptions()
            lost.lost = 1
            return fixture.customers().count { customer in
                (try? fixture.appStore.simulate(EventRequest(.refund, customerId: customer.id), lost)) != nil
            }
        }

        /// Makes the store a backup that is older than a short restart.
        func age() async throws {
            try await fixture.change(
                "UPDATE notification SET receivedAt = receivedAt - 60000; UPDATE customer SET askedAt = askedAt - 60000"
            )
        }

        func rows(_ sql: String) async throws -> Int64? {
            try await DatabaseQueue(path: fixture.folder.path("bridge.sqlite")).read { db in
                try Int64.fetchOne(db, sql: sql)
            }
        }

        func answers(_ server: Running) async throws -> [StoredAnswer] {
            try await server.answers(to: fixture.folder.boughtReceipts().compactMap { $0["receipt"]?.text })
        }
    }

    @Test(
        "After the catch-up no refunded customer is answered as if not refunded, and nobody needs a lookup",
        .timeLimit(.minutes(2)), arguments: Story.allCases)
    func caughtUp(_ story: Story) async throws {
        let stage = try await Stage()
        let first = try await stage.fixture.serve("api.yaml")
        if story != .switchedOn { try await stage.notify(first) }
        _ = try await stage.answers(first)
        await first.finish()
        // The refunds are in no store: they happen after the backup, or before there are notifications.
        #expect(try stage.refund() > 3)
        if story != .switchedOn { try await stage.age() }
        if story == .restoredWithoutHistory {
            stage.fixture.appStore.faults.add(SimulatedFault(.status(500), endpoint: "notificationHistory"))
        }
        let before = try #require(try await stage.rows("SELECT max(askedAt) FROM customer"))
        let server = try await stage.fixture.serve("stored.yaml")
        if story == .switchedOn { try await stage.notify(server) }
        if story == .restored {
            #expect(await eventually { server.errors.contains("fetched notifications that the store lacked") })
        } else {
            // Nobody asks for them meanwhile.
            let early = "SELECT count(*) FROM customer WHERE askedAt <= \(before)"
            #expect(
                await eventually(within: .seconds(30)) { (try? await stage.rows(early)) == 0 },
                "\(server.errors)")
            #expect(
                await eventually { server.errors.contains("customers that needed a lookup were looked up") })
        }
        let fresh = try await stage.fixture.serve("fresh.yaml")
        let expected = try await stage.answers(fresh)
        await fresh.finish()
        let answers = try await stage.answers(server)
        StoredAnswer.expect(answers, equal: expected)
        await server.finish()
        let check = try await stage.fixture.run("store", "check", "sqlite:bridge.sqlite", "--json")
        #expect(check.lines.first?["customersToLookUp"]?.integer == 0, "\(check.text)")
    }

    @Test(
        "A spent limit of one environment does not hold up the other in a reconciliation, which says what it waits for",
        .timeLimit(.minutes(1)))
    func environments() async throws {
        let stage = try await Stage(customers: 24)
        let first = try await stage.fixture.serve("api.yaml")
        try await stage.notify(first)
        _ = try await stage.answers(first)
        await first.finish()
        // Looked up before the first notification.
        try await stage.fixture.change("UPDATE customer SET askedAt = askedAt - 600000")
        let begin = Timestamp.now.milliseconds - 60_000
        let end = "\(begin + 3_600_000)"
        stage.fixture.appStore.faults.add(
            SimulatedFault(
                .serverAPI(.failure(code: 4_290_000, retryAfter: end)), endpoint: "history", environment: .sandbox))
        let yaml = try stage.fixture.folder.text("stored.yaml")
        try stage.fixture.folder.write("daily.yaml", ("reconcile: {window: 3d}\n" + yaml).utf8)
        let server = try await stage.fixture.serve("daily.yaml", environment: [TestSpeed.variable: "500"])
        func early(_ environment: AppStoreEnvironment) async -> Int64? {
            try? await stage.rows(
                """
                SELECT count(*) FROM customer JOIN app ON app.id = customer.app
                WHERE askedAt < \(begin) AND environment = '\(environment.rawValue)'
                """)
        }
        let sandbox = await early(.sandbox) ?? 0
        #expect(sandbox > 4)
        #expect(await eventually(within: .seconds(20)) { await early(.production) == 0 })
        #expect(await early(.sandbox) == sandbox)
        #expect(
            await eventually {
                server.errors.contains("reconciliation is running")
                    && server.errors.contains("for history, Sandbox")
            }, "\(server.errors)")
        await server.finish()
    }
}
