import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("notifications")
struct NotificationCommandTests {
    // MARK: - test

    @Test(
        "notifications test follows a notification into the store, and exits with 1 if it is not delivered or not stored"
    )
    func test() async throws {
        let stage = try await CommandFixture(customers: 2)
        let preview = try await stage.preview(["notifications", "test", "--environment", "sandbox"])
        #expect(preview["method"]?.text == "POST" && preview["body"] == .null)
        #expect(preview["url"]?.text?.hasSuffix("/sandbox/inApps/v1/notifications/test") == true)
        let proxy = try await stage.serve()
        try await stage.notify(proxy)
        let arrived = try await stage.run("notifications", "test", "--environment", "sandbox", exit: 0)
        let line = try #require(arrived.lines.first)
        #expect(line.keys == ["token", "environment", "notificationUUID", "delivered", "arrived", "sendAttempts"])
        #expect(line["delivered"] == .bool(true) && line["arrived"] == .bool(true))
        #expect(line["notificationUUID"]?.text?.count == 36 && line["environment"]?.text == "Sandbox")
        try stage.configure("other.yaml", store: "sqlite:other.sqlite")
        let elsewhere = try await stage.run("notifications", "test", "--config", "other.yaml")
        #expect(elsewhere.exit == 1 && elsewhere.lines.first?["arrived"] == .bool(false), "\(elsewhere.errors)")
        await proxy.finish()
        let lost = try await stage.run(
            "notifications", "test", exit: 1, says: "Apple could not deliver the notification: ")
        #expect(lost.lines.first?["delivered"] == .bool(false))
    }

    // MARK: - history

    @Test("notifications history prints every notification once, verified, and reports a clamped start")
    func history() async throws {
        let stage = try await CommandFixture(store: nil)
        stage.appStore.simulate(60, seed: 7)
        let all = try await stage.run(
            "notifications", "history", "--start", "2020-01-01", exit: 0, says: "Apple keeps notifications for 180 days"
        )
        let uuids = all.lines.compactMap { $0["notificationUUID"]?.text }
        #expect(uuids.count == all.lines.count && Set(uuids).count == uuids.count && uuids.count > 20)
        for line in all.lines {
            #expect(line["verified"] == .bool(true) && line["failure"] == .null && line["stored"] == .null)
            #expect(line["environment"]?.text == "Production")
        }
        let renewals = try await stage.run("notifications", "history", "--type", "DID_RENEW")
        let expected = all.lines.filter { $0["notificationType"]?.text == "DID_RENEW" }
        #expect(renewals.exit == 0 && !expected.isEmpty && !renewals.errors.contains("Apple keeps notifications"))
        #expect(
            renewals.lines.compactMap { $0["notificationUUID"]?.text }
                == expected.compactMap { $0["notificationUUID"]?.text })
        let id = try #require(expected.first?["originalTransactionId"]?.text)
        let one = try await stage.run("notifications", "history", "--transaction-id", id, "--only-failures")
        #expect(one.exit == 0 && one.output.isEmpty, "\(one.errors)")
        for (words, reason) in [
            (["--subtype", "UPGRADE"], "--subtype needs --type"), (["--replay"], "--replay needs a store"),
            (["--type", "REFUND", "--transaction-id", id], "cannot be combined"), (["--start", "noon"], "--start"),
            (["--start", "2026-01-02", "--end", "2026-01-01"], "must be before the end"),
            (["--end", "2020-01-01"], "180 days for which Apple keeps"), (["--transaction-id", "x"], "1 to 20 digits"),
        ] { try await stage.expectRefusal(["notifications", "history"] + words, reason) }
        stage.appStore.faults.add(SimulatedFault(.serverAPI(.badSignature), endpoint: "notificationHistory"))
        let forged = try await stage.run(
            "notifications", "history", "--transaction-id", id, exit: 1, says: "not verified")
        #expect(forged.lines.allSatisfy { $0["verified"] == .bool(false) && $0["failure"]?["code"] != nil })
    }

    @Test("history --to resumes after a kill and after errors, and later adds only new notifications")
    func resumed() async throws {
        let stage = try await CommandFixture(store: nil)
        stage.appStore.simulate(80, seed: 7)
        // Fewer windows of a day than the 180 days that Apple keeps.
        let history = [
            "notifications", "history", "--start", Date.now.addingTimeInterval(-60 * 86_400).ISO8601Format(),
        ]
        let words = history + ["--to", "out.jsonl"]
        func uuids() throws -> [String] {
            try stage.folder.lines("out.jsonl").compactMap { $0["notificationUUID"]?.text }
        }
        // Makes the run long enough to be killed.
        stage.delay("notificationHistory", milliseconds: 20)
        let running = try stage.start(words)
        #expect(
            await eventually { stage.appStore.requests.total > 20 || !running.isRunning })
        running.kill()
        #expect(await running.end() == -SIGKILL)
        stage.appStore.faults.removeAll()
        // Not an error of the pagination token, so it ends the run.
        stage.appStore.faults.add(
            SimulatedFault(
                .serverAPI(.failure(code: 4_000_012, retryAfter: nil)), endpoint: "notificationHistory", times: 1))
        try await stage.run(words, exit: 1)
        try await stage.run(words, exit: 0)
        let whole = try await stage.run(history)
        #expect(try uuids() == whole.lines.compactMap { $0["notificationUUID"]?.text })
        let before = try uuids()
        stage.appStore.simulate(3, seed: 9, in: .production)
        // The events have dates of the next seconds.
        let isLater = await eventually(within: .seconds(30), every: .milliseconds(200)) {
            guard let later = try? await stage.run(words), later.exit == 0 else { return false }
            return ((try? uuids()) ?? []).count > before.count
        }
        #expect(isLater)
        let after = try uuids()
        #expect(Array(after.prefix(before.count)) == before && after.count > before.count)
        #expect(Set(after).count == after.count)
        try await stage.expectRefusal(words + ["--type", "REFUND"], "was written with other options")
    }

    @Test("history --to is resumed by the same command if it is killed as soon as the file has content")
    func killedEarly() async throws {
        let stage = try await CommandFixture(store: nil)
        stage.appStore.simulate(40, seed: 7)
        // One time window that contains all notifications.
        let start = Date.now.addingTimeInterval(-3_600).ISO8601Format()
        let words = ["notifications", "history", "--start", start]
        var (destination, end) = ("", Int32(0))
        // A run may end before it is killed.
        for attempt in 1...10 where end != -SIGKILL {
            destination = "out\(attempt).jsonl"
            let running = try stage.start(words + ["--to", destination])
            await running.kill(whenWritten: stage.folder.path(destination))
            end = await running.end()
        }
        #expect(end == -SIGKILL)
        try await stage.run(words + ["--to", destination], exit: 0)
        let whole = try await stage.run(words)
        #expect(whole.lines.count >= 10)
        #expect(try stage.folder.lines(destination) == whole.lines)
        // A file with other content is never changed, however often the command runs.
        let nothing = ["notifications", "history", "--type", "TEST", "--to", "mine.jsonl"]
        #expect(try await stage.run(nothing).exit == 0)
        try stage.folder.write("mine.jsonl", "mine\n".utf8)
        for _ in 0..<2 {
            try await stage.expectRefusal(nothing, "destinationExists")
        }
        #expect(try stage.folder.text("mine.jsonl") == "mine\n")
    }

    // MARK: - --replay

    @Test("history --replay stores lost notifications while a server runs on the same store", .timeLimit(.minutes(1)))
    func replay() async throws {
        let stage = try await CommandFixture(customers: 24)
        try stage.configure("api.yaml", store: "sqlite:api.sqlite", answer: "[api]")
        try stage.configure("receipt-bridge.yaml", store: "sqlite:bridge.sqlite", answer: "[stored, api]")
        let customers = stage.extendable().map(\.customer).prefix(6)
        let receipts = customers.compactMap { stage.appStore.receipts(of: $0).first { $0.plan.version == nil }?.base64 }
        try #require(receipts.count > 2)
        let proxy = try await stage.serve()
        try await stage.notify(proxy)
        // Customers who are looked up before the first notification of a store would be looked up again.
        let early = try stage.appStore.simulate(EventRequest(.buyNonConsumable, environment: .production))
        let known = early.notifications.count
        #expect(await stage.isQuiet())
        let before = try await proxy.answers(to: receipts)
        var lost = DeliveryOptions()
        lost.lost = 1
        for (index, customer) in customers.enumerated() {
            let event: WorldEvent = [.renew, .autoRenewOff, .refund][index % 3]
            try stage.appStore.simulate(EventRequest(event, customerId: customer.id), lost)
        }
        #expect(await stage.isQuiet())
        // The server received no notification, so its responses are unchanged.
        let unchanged = try await proxy.answers(to: receipts)
        #expect(unchanged.allSatisfy { $0.source == "stored" })
        StoredAnswer.expect(unchanged, equal: before)
        // Two processes replay, while the server may receive notifications.
        let second = try stage.start("notifications", "history", "--replay", "--to", "second.jsonl")
        let first = try await stage.run("notifications", "history", "--replay", "--to", "first.jsonl", exit: 0)
        #expect(await second.end() == 0, "\(second.errors)")
        let stored = try [stage.folder.lines("first.jsonl"), stage.folder.lines("second.jsonl")].map { lines in
            Dictionary(grouping: lines.compactMap { $0["stored"]?.text }) { $0 }.mapValues(\.count)
        }
        let all = try stage.folder.lines("first.jsonl").count
        // Each notification was stored by exactly one of the two.
        #expect(stored.reduce(0) { $0 + ($1["new"] ?? 0) } == all - known && known > 0, "\(stored)")
        #expect(first.errors.contains("already stored"))
        let again = try await stage.run("notifications", "history", "--replay")
        #expect(again.errors.contains(": 0 new, \(all) already stored"), "\(again.errors)")
        await proxy.finish()
        // A process with an empty cache responds from the store as the App Store Server API would.
        let fresh = try await stage.serve()
        let oracle = try await stage.serve("api.yaml")
        let ours = try await fresh.answers(to: receipts)
        StoredAnswer.expect(ours, equal: try await oracle.answers(to: receipts))
        let changed = zip(ours, before).count { $0.members != $1.members }
        #expect(ours.contains { $0.source == "stored" } && changed > 1, "\(changed)")
        for server in [fresh, oracle] { await server.finish() }
    }
}
