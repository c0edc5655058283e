import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("reconcile")
struct ReconcileTests {
    /// Number of renewals and refunds that the App Store does not report, and of customers.
    private static let size: (renewals: Int, refunds: Int, customers: Int) = TestSize.pick(
        debug: (10, 3, 40), release: (200, 40, 700))

    /// The stores that this machine can run. Each element is the beginning of an address.
    enum Engine: String, CaseIterable {
        case sqlite, postgresql

        static var available: [Engine] { allCases.filter { $0 == .sqlite || StoreCommandTests.address != nil } }
    }

    /// A simulated App Store, a store, and a consumer of forwarded notifications.
    private struct Stage {
        let fixture: CommandFixture
        let consumer: TestServer
        private let schema: String?

        init(_ engine: Engine, customers: Int) async throws {
            fixture = try await CommandFixture(customers: customers)
            consumer = try TestServer(reply: .respond())
            let store: String
            switch engine {
            case .sqlite: (schema, store) = (nil, "sqlite:bridge.sqlite")
            case .postgresql:
                let name = "reconcile_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
                try await StoreCommandTests.run("CREATE SCHEMA \(name)")
                schema = name
                store = "\(try #require(StoreCommandTests.address))?options=-csearch_path%3D\(name)"
            }
            let targets = ["raw", "camel"].map {
                "      - {url: \"http://127.0.0.1:\(consumer.port)/\($0)\", as: \($0)}\n"
            }
            for (name, store, answer, more) in [
                ("bridge.yaml", store, "[stored, api]", "    forward:\n\(targets.joined())"),
                ("fresh.yaml", "none", "[api]", ""),
            ] {
                try fixture.configure(name, store: store, answer: answer, more: "\n    cacheSeconds: 0\n" + more)
            }
        }

        private func bodies(_ path: String) -> [JSONValue] {
            consumer.requests.filter { $0.path == path }.compactMap {
                try? JSONValue(reading: $0.body)
            }
        }

        var raw: [JSONValue] { bodies("/raw") }
        var camel: [JSONValue] { bodies("/camel") }
        var reports: [JSONValue] { camel.filter { $0["source"]?.text == "reconcile" } }

        func answers(_ server: Running) async throws -> [StoredAnswer] { try await server.answers(to: receipts()) }

        /// Waits until each receipt is answered from the store: one after the other, so that each is asked about again
        /// only until then.
        func isStored(_ server: Running) async throws -> Bool {
            for receipt in try receipts() {
                let isStored = await eventually(within: .seconds(30), every: .milliseconds(20)) {
                    (try? await server.verify(receipt))?.header("Receipt-Bridge-Source") == "stored"
                }
                guard isStored else { return false }
            }
            return true
        }

        private func receipts() throws -> [String] {
            try fixture.folder.boughtReceipts().compactMap { $0["receipt"]?.text }
        }

        /// The customers of the receipts, in the order of ``answers(_:)``.
        func customers() throws -> [String] {
            try fixture.folder.boughtReceipts().map { String(($0["id"]?.text ?? "").prefix { $0 != "-" }) }
        }

        /// Waits for the server's writes to the same file as long as it does for users. On a busy machine they took
        /// longer than the half second of the other tests, and the command ended with `locked`.
        func reconcile(_ more: String...) async throws -> Binary.Outcome {
            try await fixture.run(
                ["reconcile", "--window", "30d", "--budget", "1", "--json", "--config", "bridge.yaml"] + more,
                environment: [TestSpeed.variable: "1"])
        }

        func isDelivered() async -> Bool {
            await eventually(within: .seconds(60), every: .milliseconds(100)) {
                let list = try? await self.fixture.run("forwarding", "list", "--config", "bridge.yaml")
                return list.map { $0.exit == 0 && $0.lines.allSatisfy { $0["state"]?.text == "delivered" } } ?? false
            }
        }

        /// Moves the last reconciliation to two days ago.
        func setBack() async throws {
            let table = [schema, "reconciliation"].compactMap { $0 }.joined(separator: ".")
            let sql = "UPDATE \(table) SET startedAt = startedAt - 172800000, endedAt = endedAt - 172800000"
            guard schema == nil else { return try await StoreCommandTests.run(sql) }
            try await fixture.change(sql)
        }

        func stop() async throws {
            if let schema { try await StoreCommandTests.run("DROP SCHEMA \(schema) CASCADE") }
        }
    }

    /// Lets an event happen to several customers whose state allows it, each once.
    private func happen(
        _ event: WorldEvent, _ count: Int, _ customers: inout [SimulatedCustomer],
        _ perform: (EventRequest) throws(EventFailure) -> EventOutcome
    ) throws -> [EventOutcome] {
        var outcomes: [EventOutcome] = []
        customers.removeAll { customer in
            guard outcomes.count < count else { return false }
            do throws(EventFailure) {
                outcomes.append(try perform(EventRequest(event, customerId: customer.id)))
                return true
            } catch {
                return false
            }
        }
        #expect(outcomes.count == count)
        return outcomes
    }

    /// The transactions of an event that are new or revoked since.
    private func changed(_ outcome: EventOutcome) -> [String] {
        let before = Dictionary(
            (outcome.before?.transactions ?? []).map { ($0.transactionId, $0.revocation != nil) }
        ) { first, _ in first }
        return (outcome.after?.transactions ?? []).filter { before[$0.transactionId] != ($0.revocation != nil) }
            .map(\.transactionId)
    }

    @Test(
        "After renewals and refunds without a notification, one reconciliation makes stored answers equal fresh ones",
        .timeLimit(.minutes(4)), arguments: Engine.available)
    func everything(on engine: Engine) async throws {
        let size = Self.size
        let stage = try await Stage(engine, customers: size.customers)
        var server = try await stage.fixture.serve("bridge.yaml")
        _ = try await stage.answers(server)
        // The notifications of the time before, and everything else that the store does not have.
        let before = try await stage.reconcile()
        #expect(before.exit == 0, "\(before.errors)")
        #expect(try await stage.isStored(server))
        #expect(await stage.isDelivered())
        let (raw, camel, earlier) = (stage.raw.count, stage.camel.count, stage.reports.count)
        // Half of the renewals are never sent, but in the notification history; of the others there is no notification.
        let appStore = stage.fixture.appStore
        try await stage.fixture.notify(server)
        let now = Timestamp.now.milliseconds
        var customers = appStore.world.customers.filter { customer in
            customer.renewals.contains { renewal in
                let ends = customer.transactions.filter { $0.originalTransactionId == renewal.originalTransactionId }
                    .compactMap { $0.expiresDate?.milliseconds }
                return renewal.status == .active && ends.max().map { abs($0 - now) < 29 * 86_400_000 } ?? false
            }
        }
        var lostOptions = DeliveryOptions()
        lostOptions.lost = 1
        let lost = try happen(.renew, size.renewals / 2, &customers) { request throws(EventFailure) in
            try appStore.simulate(request, lostOptions)
        }
        let silent = try happen(.renew, size.renewals - size.renewals / 2, &customers) { request throws(EventFailure) in
            try appStore.events.make(request)
        }
        var others = appStore.world.customers.filter { customer in
            !(lost + silent).contains { $0.after?.id == customer.id }
        }
        let refunds = try happen(.refund, size.refunds, &others) { request throws(EventFailure) in
            try appStore.events.make(request)
        }
        let fresh = try await stage.fixture.serve("fresh.yaml")
        let expected = try await stage.answers(fresh)
        let outdated = try await stage.answers(server)
        #expect(zip(outdated, expected).count { $0.members != $1.members } >= size.renewals)

        // A running server sees what another process writes to a file within a minute.
        await server.finish()
        let run = try await stage.reconcile()
        server = try await stage.fixture.serve("bridge.yaml")
        let summary = try #require(run.lines.first)
        #expect(run.exit == 0 && summary["failed"]?.integer == 0, "\(run.errors)")
        #expect(summary["notifications"]?.integer == Int64(lost.flatMap(\.notifications).count), "\(run.text)")
        #expect(summary["different"]?.integer ?? 0 >= Int64(silent.count), "\(run.text)")
        print("\(engine): \(run.text)")
        let answers = try await stage.answers(server)
        // Some seconds after the lookups, denials are confirmed by the App Store.
        let confirmed = answers.count { $0.source != "stored" }
        #expect(confirmed * 4 < answers.count * 3, "\(confirmed) of \(answers.count)")
        StoredAnswer.expect(answers, equal: expected)

        // Signed notifications go to every target, and what only a lookup finds to camel targets, each once.
        #expect(await stage.isDelivered())
        let signed = stage.raw.dropFirst(raw)
        #expect(
            signed.count == lost.flatMap(\.notifications).count && signed.allSatisfy { $0.keys == ["signedPayload"] })
        let reports = stage.reports.dropFirst(earlier)
        #expect(reports.count + signed.count == stage.camel.count - camel)
        #expect(Set(reports.map { $0["reportUUID"]?.text }).count == reports.count)
        #expect(reports.allSatisfy { $0["notificationType"] == nil && $0["verified"] == .bool(true) })
        var reported: [String: Int] = [:]
        for report in reports {
            for transaction in report["transactions"]?.elements ?? [] {
                reported[transaction["transactionId"]?.text ?? "", default: 0] += 1
            }
        }
        // Denials were confirmed by the server, so the reconciliation found nothing new of these customers.
        let asked = Set(zip(try stage.customers(), outdated).filter { $1.source == "api" }.map(\.0))
        let found = (silent + refunds).filter { !asked.contains($0.after?.id ?? "") }
        for outcome in found {
            #expect(changed(outcome).allSatisfy { reported[$0] == 1 }, "\(outcome.after?.id ?? "")")
        }
        #expect(found.count * 2 > (silent + refunds).count)
        #expect(lost.allSatisfy { outcome in changed(outcome).allSatisfy { reported[$0] == nil } })

        // A second run finds nothing.
        let again = try await stage.reconcile()
        let rest = try #require(again.lines.first)
        #expect(again.exit == 0, "\(again.errors)")
        for name in ["notifications", "different", "refunds"] { #expect(rest[name]?.integer == 0, "\(again.text)") }
        #expect(stage.reports.count == earlier + reports.count)
        for process in [server, fresh] {
            await process.finish()
        }
        try await stage.stop()
    }

    @Test(
        "Of two servers one reconciles, and a server that was not running at the time of day makes up for it",
        .timeLimit(.minutes(2)), arguments: Engine.available)
    func daily(on engine: Engine) async throws {
        let stage = try await Stage(engine, customers: 8)
        let yaml = try stage.fixture.folder.text("bridge.yaml")
        let hour = (Timestamp.now.seconds / 3_600 + 23) % 24
        let time = "\(hour < 10 ? "0" : "")\(hour):00"
        try stage.fixture.folder.write("daily.yaml", ("reconcile: {window: 30d, at: \"\(time)\"}\n" + yaml).utf8)
        func ended(_ servers: [Running]) -> Int {
            servers.count { $0.errors.contains("reconciliation ended") }
        }
        // A server looks after 10 ms, and then every 120 ms.
        let fast = [TestSpeed.variable: "500"]
        var servers: [Running] = []
        for _ in 0..<2 { servers.append(try await stage.fixture.serve("daily.yaml", environment: fast)) }
        #expect(await eventually(within: .seconds(40)) { ended(servers) == 1 }, "\(servers.map(\.errors))")
        // The other one has looked several times by then.
        try await Task.sleep(for: .milliseconds(600))
        #expect(ended(servers) == 1)
        for server in servers {
            await server.finish()
        }
        // The time of day is over, and no other one is due: there is no second run today.
        let next = try await stage.fixture.serve("daily.yaml", environment: fast)
        try await Task.sleep(for: .seconds(1))
        #expect(ended([next]) == 0)
        await next.finish()
        // As if no server had run since the day before yesterday.
        try await stage.setBack()
        let late = try await stage.fixture.serve("daily.yaml", environment: fast)
        #expect(await eventually(within: .seconds(40)) { ended([late]) == 1 }, "\(late.errors)")
        await late.finish()
        try await stage.stop()
    }

    @Test(
        "A killed reconciliation is continued, and neither its lookups nor the history begin again",
        .timeLimit(.minutes(2)))
    func killed() async throws {
        let stage = try await Stage(.sqlite, customers: 52)
        let server = try await stage.fixture.serve("bridge.yaml")
        _ = try await stage.answers(server)
        await server.finish()
        // The calls for histories of customers, one for each page.
        func lookups() -> Int {
            let requests = stage.fixture.appStore.requests
            return requests.count("history.production") + requests.count("history.sandbox")
        }
        func pages() -> Int {
            let requests = stage.fixture.appStore.requests
            return requests.count("notificationHistory.production") + requests.count("notificationHistory.sandbox")
        }
        var (before, expected) = (0, 0)
        // The first one also stores notifications, and so looks up other customers than all later ones.
        for _ in 0..<2 {
            before = lookups()
            let whole = try await stage.reconcile()
            #expect(whole.exit == 0, "\(whole.errors)")
            expected = lookups() - before
        }
        #expect(expected > 28)
        before = lookups()
        let start = pages()
        // Otherwise it could end before it is killed.
        stage.fixture.appStore.faults.add(SimulatedFault(.delay, endpoint: "history", milliseconds: 100))
        let first = try stage.fixture.start(
            "reconcile", "--window", "30d", "--budget", "1", "--json", "--config", "bridge.yaml")
        #expect(await eventually(within: .seconds(60)) { lookups() >= before + expected - 6 || !first.isRunning })
        first.kill()
        #expect(await first.end() == -SIGKILL)
        let (whole, read) = (pages() - start, pages())
        stage.fixture.appStore.faults.removeAll()
        // Its lease ends with its process.
        let second = try await stage.reconcile()
        #expect(second.exit == 0, "\(second.errors)")
        // Only those whose response was not stored yet are looked up again, from their first page: at most as many as
        // there are workers, and the longest history has six pages.
        #expect((expected...expected + 20).contains(lookups() - before), "\(lookups() - before) \(expected)")
        #expect(whole > 60 && pages() - read <= 4, "\(whole) pages, then \(pages() - read)")
        try await stage.stop()
    }

    @Test("Wrong options, and what could not be asked about, are named")
    func refused() async throws {
        let stage = try await CommandFixture(customers: 8)
        try await stage.expectRefusal(["reconcile", "--window", "31d"], "--window: must be")
        try stage.configure("none.yaml", store: "none")
        try await stage.expectRefusal(["reconcile", "--config", "none.yaml"], "reconcile needs a store")
        try await stage.replay()
        await stage.stop()
        let down = try await stage.run("reconcile", exit: 3)
        #expect(down.errors.contains("not asked: history of com.example.app, Production"), "\(down.errors)")
        #expect(down.errors.contains("stopped early"), "\(down.errors)")
    }
}
