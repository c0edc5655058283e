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
                try fixture.configure(name, store: store, answer: answer)
                let yaml = try String(contentsOf: fixture.folder.url.appending(path: name), encoding: .utf8)
                try fixture.folder.write(name, (yaml + "\n    cacheSeconds: 0\n").utf8)
            }
        }

        func serve(
            _ config: String, environment: [String: String] = [:]
        ) async throws -> (process: Running, port: Int) {
            let process = try fixture.start(
                ["serve", "--listen", "127.0.0.1:0", "--config", config], environment: environment)
            return (process, try await process.port())
        }

        func stop(_ process: Running) async {
            process.stop()
            #expect(await process.end() == 0)
        }

        /// Lets the App Store send a first notification, about a customer of its own, to a server.
        func notify(_ port: Int) async throws {
            let address = "http://127.0.0.1:\(port)/v1/notifications"
            try await fixture.ask("POST", "/notifications/targets", .object(["url": .string(address)]))
            try await fixture.ask("POST", "/events", .object(["count": .number(1), "seed": .number(7)]))
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
            try await DatabaseQueue(path: fixture.folder.path("bridge.sqlite")).write { db in
                try db.execute(sql: "UPDATE notification SET receivedAt = receivedAt - 60000")
                try db.execute(sql: "UPDATE customer SET askedAt = askedAt - 60000")
            }
        }

        func rows(_ sql: String) async throws -> Int64? {
            try await DatabaseQueue(path: fixture.folder.path("bridge.sqlite")).read { db in
                try Int64.fetchOne(db, sql: sql)
            }
        }

        func answers(_ port: Int) async throws -> [[String: String]] {
            let connection = try RawConnection(port: port)
            var answers: [[String: String]] = []
            for row in try fixture.folder.lines("receipts.jsonl") where row["receipt"] != nil {
                guard row["originalTransactionIds"]?.elements?.isEmpty == false else { continue }
                let body = Question.body(row["receipt"]?.text ?? "", password: SimulatedApp.first.sharedSecret)
                try await connection.send(RawConnection.post("/verifyReceipt", body, ["Host: a"]))
                answers.append(try CatchUpTests.members(of: Array(try #require(try await connection.answer()).body)))
            }
            return answers
        }
    }

    @Test(
        "After the catch-up no refunded customer is answered as if not refunded, and nobody needs a lookup",
        .timeLimit(.minutes(2)), arguments: Story.allCases)
    func caughtUp(_ story: Story) async throws {
        let stage = try await Stage()
        let first = try await stage.serve("api.yaml")
        if story != .switchedOn { try await stage.notify(first.port) }
        _ = try await stage.answers(first.port)
        await stage.stop(first.process)
        // The refunds are in no store: they happen after the backup, or before there are notifications.
        #expect(try stage.refund() > 3)
        if story != .switchedOn { try await stage.age() }
        if story == .restoredWithoutHistory {
            stage.fixture.appStore.faults.add(SimulatedFault(.status(500), endpoint: "notificationHistory"))
        }
        let before = try #require(try await stage.rows("SELECT max(askedAt) FROM customer"))
        let server = try await stage.serve("stored.yaml")
        if story == .switchedOn { try await stage.notify(server.port) }
        if story == .restored {
            #expect(await eventually { server.process.errors.contains("fetched notifications that the store lacked") })
        } else {
            // Nobody asks for them meanwhile.
            let early = "SELECT count(*) FROM customer WHERE askedAt <= \(before)"
            #expect(
                await eventually(within: .seconds(30)) { (try? await stage.rows(early)) == 0 },
                "\(server.process.errors)")
            #expect(
                await eventually { server.process.errors.contains("customers that needed a lookup were looked up") })
        }
        let fresh = try await stage.serve("fresh.yaml")
        let expected = try await stage.answers(fresh.port)
        await stage.stop(fresh.process)
        let answers = try await stage.answers(server.port)
        #expect(zip(answers, expected).filter { $0 != $1 }.isEmpty)
        await stage.stop(server.process)
        let check = try await stage.fixture.run("store", "check", "sqlite:bridge.sqlite", "--json")
        #expect(check.lines.first?["customersToLookUp"]?.integer == 0, "\(check.text)")
        await stage.fixture.stop()
    }

    @Test(
        "A spent limit of one environment does not hold up the other in a reconciliation, which says what it waits for",
        .timeLimit(.minutes(1)))
    func environments() async throws {
        let stage = try await Stage(customers: 24)
        let first = try await stage.serve("api.yaml")
        try await stage.notify(first.port)
        _ = try await stage.answers(first.port)
        await stage.stop(first.process)
        try await DatabaseQueue(path: stage.fixture.folder.path("bridge.sqlite")).write { db in
            // Looked up before the first notification.
            try db.execute(sql: "UPDATE customer SET askedAt = askedAt - 600000")
        }
        let begin = Timestamp.now.milliseconds - 60_000
        let end = "\(begin + 3_600_000)"
        stage.fixture.appStore.faults.add(
            SimulatedFault(
                .serverAPI(.failure(code: 4_290_000, retryAfter: end)), endpoint: "history", environment: .sandbox))
        let yaml = try String(contentsOf: stage.fixture.folder.url.appending(path: "stored.yaml"), encoding: .utf8)
        try stage.fixture.folder.write("daily.yaml", ("reconcile: {window: 3d}\n" + yaml).utf8)
        let server = try await stage.serve("daily.yaml", environment: [TestSpeed.variable: "500"])
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
                server.process.errors.contains("reconciliation is running")
                    && server.process.errors.contains("for history, Sandbox")
            }, "\(server.process.errors)")
        await stage.stop(server.process)
        await stage.fixture.stop()
    }
}
