import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("notifications")
struct NotificationCommandTests {
    private func target(_ stage: CommandFixture, port: Int) async throws {
        try await stage.ask(
            "POST", "/notifications/targets",
            .object(["url": .string("http://127.0.0.1:\(port)/v1/notifications")]))
    }

    private func isQuiet(_ stage: CommandFixture) async throws -> Bool {
        try await stage.ask("GET", "/notifications/deliveries")["waiting"]?.integer == 0
    }

    // MARK: - test

    @Test(
        "notifications test follows a notification into the store, and exits with 1 if it is not delivered or not stored"
    )
    func test() async throws {
        let stage = try await CommandFixture(customers: 2)
        let preview = try await stage.preview(["notifications", "test", "--environment", "sandbox"])
        #expect(preview["method"]?.text == "POST" && preview["body"] == .null)
        #expect(preview["url"]?.text?.hasSuffix("/sandbox/inApps/v1/notifications/test") == true)
        let proxy = try stage.start("serve", "--listen", "127.0.0.1:0")
        try await target(stage, port: try await proxy.port())
        let arrived = try await stage.run("notifications", "test", "--environment", "sandbox")
        #expect(arrived.exit == 0, "\(arrived.errors)")
        let line = try #require(arrived.lines.first)
        #expect(line.keys == ["token", "environment", "notificationUUID", "delivered", "arrived", "sendAttempts"])
        #expect(line["delivered"] == .bool(true) && line["arrived"] == .bool(true))
        #expect(line["notificationUUID"]?.text?.count == 36 && line["environment"]?.text == "Sandbox")
        try stage.configure("other.yaml", store: "sqlite:other.sqlite")
        let elsewhere = try await stage.run("notifications", "test", "--config", "other.yaml")
        #expect(elsewhere.exit == 1 && elsewhere.lines.first?["arrived"] == .bool(false), "\(elsewhere.errors)")
        proxy.stop()
        #expect(await proxy.end() == 0)
        let lost = try await stage.run("notifications", "test")
        #expect(lost.exit == 1 && lost.errors.contains("Apple could not deliver the notification: "), "\(lost.errors)")
        #expect(lost.lines.first?["delivered"] == .bool(false))
        await stage.stop()
    }

    // MARK: - history

    @Test("notifications history prints every notification once, verified, and reports a clamped start")
    func history() async throws {
        let stage = try await CommandFixture(store: nil)
        try await stage.ask("POST", "/events", .object(["count": .number(60), "seed": .number(7)]))
        let all = try await stage.run("notifications", "history", "--start", "2020-01-01")
        #expect(all.exit == 0 && all.errors.contains("Apple keeps notifications for 180 days"), "\(all.errors)")
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
        try await stage.ask(
            "POST", "/faults",
            .object([
                "kind": .string("badSignature"), "endpoint": .string("notificationHistory"), "times": .number(200),
            ]))
        let forged = try await stage.run("notifications", "history", "--transaction-id", id)
        #expect(forged.exit == 1 && forged.errors.contains("not verified"), "\(forged.errors)")
        #expect(forged.lines.allSatisfy { $0["verified"] == .bool(false) && $0["failure"]?["code"] != nil })
        await stage.stop()
    }

    @Test("history --to resumes after a kill and after errors, and later adds only new notifications")
    func resumed() async throws {
        let stage = try await CommandFixture(store: nil)
        try await stage.ask("POST", "/events", .object(["count": .number(80), "seed": .number(7)]))
        // Fewer windows of a day than the 180 days that Apple keeps.
        let history = [
            "notifications", "history", "--start", Date.now.addingTimeInterval(-60 * 86_400).ISO8601Format(),
        ]
        let words = history + ["--to", "out.jsonl"]
        func uuids() throws -> [String] {
            try stage.folder.lines("out.jsonl").compactMap { $0["notificationUUID"]?.text }
        }
        func fault(_ code: Int64) async throws {
            try await stage.ask(
                "POST", "/faults",
                .object([
                    "kind": .string("error"), "errorCode": .number(code), "endpoint": .string("notificationHistory"),
                    "times": .number(1),
                ]))
        }
        // Makes the run long enough to be killed.
        try await stage.ask(
            "POST", "/faults",
            .object([
                "kind": .string("delay"), "endpoint": .string("notificationHistory"), "milliseconds": .number(20),
            ]))
        let running = try Running(words + ["--config", "receipt-bridge.yaml"], in: stage.folder)
        #expect(
            await eventually(within: .seconds(60)) {
                (try? await stage.calls).map { $0 > 20 } ?? false || !running.isRunning
            })
        running.kill()
        #expect(await running.end() == -SIGKILL)
        try await stage.ask("DELETE", "/faults")
        // Not an error of the pagination token, so it ends the run.
        try await fault(4_000_012)
        let broken = try await stage.run(words)
        #expect(broken.exit == 1, "\(broken.errors)")
        let done = try await stage.run(words)
        #expect(done.exit == 0, "\(done.errors)")
        let whole = try await stage.run(history)
        #expect(try uuids() == whole.lines.compactMap { $0["notificationUUID"]?.text })
        let before = try uuids()
        try await stage.ask(
            "POST", "/events", .object(["count": .number(3), "seed": .number(9), "environment": .string("production")]))
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
        await stage.stop()
    }

    @Test("history --to is resumed by the same command if it is killed as soon as the file has content")
    func killedEarly() async throws {
        let stage = try await CommandFixture(store: nil)
        try await stage.ask("POST", "/events", .object(["count": .number(40), "seed": .number(7)]))
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
        let done = try await stage.run(words + ["--to", destination])
        #expect(done.exit == 0, "\(done.errors)")
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
        #expect(try String(contentsOfFile: stage.folder.path("mine.jsonl"), encoding: .utf8) == "mine\n")
        await stage.stop()
    }

    // MARK: - --replay

    /// Returns the response to a receipt without the date of the request, and its source.
    private func answer(_ port: Int, _ receipt: String) async throws -> (text: String, source: String?) {
        let connection = try RawConnection(port: port)
        try await connection.send(
            RawConnection.post("/verifyReceipt", Question.body(receipt, password: SimulatedApp.first.sharedSecret)))
        let answer = try #require(try await connection.answer())
        return (try JSONValue(reading: answer.body).withoutRequestDate, answer.header("Receipt-Bridge-Source"))
    }

    @Test("history --replay stores lost notifications while a server runs on the same store", .timeLimit(.minutes(1)))
    func replay() async throws {
        let stage = try await CommandFixture(customers: 24)
        try stage.configure("api.yaml", store: "sqlite:api.sqlite", answer: "[api]")
        try stage.configure("receipt-bridge.yaml", store: "sqlite:bridge.sqlite", answer: "[stored, api]")
        let customers = stage.extendable().map(\.customer).prefix(6)
        let receipts = customers.compactMap { stage.appStore.receipts(of: $0).first { $0.plan.version == nil } }
        try #require(receipts.count > 2)
        let proxy = try stage.start("serve", "--listen", "127.0.0.1:0")
        let port = try await proxy.port()
        try await target(stage, port: port)
        // Customers who are looked up before the first notification of a store would be looked up again.
        let early = try await stage.ask(
            "POST", "/events",
            .object(["event": .string("buyNonConsumable"), "environment": .string("production")]))
        let known = early["events"]?.elements?.reduce(0) { $0 + ($1["notifications"]?.elements?.count ?? 0) } ?? 0
        #expect(await eventually { (try? await isQuiet(stage)) == true })
        var before: [String] = []
        for receipt in receipts { before.append(try await answer(port, receipt.base64).text) }
        for (index, customer) in customers.enumerated() {
            try await stage.ask(
                "POST", "/events",
                .object([
                    "event": .string(["renew", "autoRenewOff", "refund"][index % 3]), "customer": .string(customer.id),
                    "lost": .number(1),
                ]))
        }
        #expect(await eventually { (try? await isQuiet(stage)) == true })
        // The server received no notification, so its responses are unchanged.
        for (receipt, old) in zip(receipts, before) {
            let answer = try await answer(port, receipt.base64)
            #expect(answer.source == "stored" && answer.text == old, "\(receipt.id)")
        }
        // Two processes replay, while the server may receive notifications.
        let second = try stage.start("notifications", "history", "--replay", "--to", "second.jsonl")
        let first = try await stage.run("notifications", "history", "--replay", "--to", "first.jsonl")
        #expect(first.exit == 0, "\(first.errors)")
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
        proxy.stop()
        #expect(await proxy.end() == 0)
        // A process with an empty cache responds from the store as the App Store Server API would.
        let fresh = try stage.start("serve", "--listen", "127.0.0.1:0")
        let oracle = try stage.start("serve", "--listen", "127.0.0.1:0", "--config", "api.yaml")
        let (freshPort, oraclePort) = (try await fresh.port(), try await oracle.port())
        var (fromStore, changed) = (0, 0)
        for (receipt, old) in zip(receipts, before) {
            let ours = try await answer(freshPort, receipt.base64)
            let theirs = try await answer(oraclePort, receipt.base64)
            #expect(ours.text == theirs.text, "\(receipt.id)")
            if ours.source == "stored" { fromStore += 1 }
            if ours.text != old { changed += 1 }
        }
        #expect(fromStore > 0 && changed > 1, "\(fromStore) \(changed)")
        for server in [fresh, oracle] {
            server.stop()
            #expect(await server.end() == 0)
        }
        await stage.stop()
    }
}

extension JSONValue {
    /// The response without the date of the request.
    fileprivate var withoutRequestDate: String {
        func cleaned(_ value: JSONValue) -> JSONValue {
            switch value {
            case .object(let members):
                .object(members.filter { !$0.key.hasPrefix("request_date") }.map { .init($0.key, cleaned($0.value)) })
            case .array(let elements): .array(elements.map(cleaned))
            default: value
            }
        }
        return String(decoding: cleaned(self).bytes, as: UTF8.self)
    }
}
