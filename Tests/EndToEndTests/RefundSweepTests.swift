import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("refunds sweep")
struct RefundSweepTests {
    /// Refunds purchases of customers in the store.
    private func refund(_ stage: CommandFixture, _ count: Int) async throws {
        for _ in 0..<count { try stage.appStore.simulate(EventRequest(.refund)) }
        try await fill(stage)
    }

    /// Stores all customers that notifications are about.
    private func fill(_ stage: CommandFixture, config: String = "receipt-bridge.yaml") async throws {
        for environment in ["production", "sandbox"] {
            try await stage.run(
                "notifications", "history", "--replay", "--environment", environment, "--config", config, exit: 0)
        }
    }

    private func ids(_ lines: [JSONValue]) -> [String] {
        lines.compactMap { line in line["transaction"]?["transactionId"]?.text }
    }

    @Test("refunds sweep reports each refund once, and later only new ones", .timeLimit(.minutes(1)))
    func once() async throws {
        let stage = try await CommandFixture(customers: 12)
        try await refund(stage, 3)
        let first = try await stage.run("refunds", "sweep", "--budget", "1")
        #expect(first.exit == 0 && first.lines.count >= 3, "\(first.errors)")
        for line in first.lines {
            #expect(line.keys == ["bundleId", "environment", "transaction", "signedTransaction"])
            #expect(line["transaction"]?["revocationDate"]?.integer != nil)
        }
        #expect(Set(ids(first.lines)).count == first.lines.count)
        let second = try await stage.run("refunds", "sweep", "--budget", "1")
        #expect(second.exit == 0 && second.output.isEmpty, "\(second.errors)")
        try await refund(stage, 2)
        let file = try await stage.run("refunds", "sweep", "--to", "new.jsonl", "--budget", "1")
        #expect(file.exit == 0 && file.output.isEmpty, "\(file.errors)")
        let new = ids(try stage.folder.lines("new.jsonl"))
        #expect(new.count == 2 && Set(new).isDisjoint(with: ids(first.lines)))
        // The command's own file is appended to; another file is not changed.
        try await refund(stage, 1)
        let grown = try await stage.run("refunds", "sweep", "--to", "new.jsonl", "--budget", "1")
        let lines = try stage.folder.lines("new.jsonl")
        #expect(grown.exit == 0 && lines.count == 3 && Array(ids(lines).prefix(2)) == new)
        try stage.folder.write("mine.txt", "mine\n".utf8)
        try await stage.expectRefusal(["refunds", "sweep", "--to", "mine.txt"], "destinationExists")
        let list = (new + ["{\"originalTransactionIds\":[],\"id\":\"r1\"}"]).joined(separator: "\n")
        try stage.folder.write("ids.txt", list.utf8)
        let listed = try await stage.run("refunds", "sweep", "--ids", "ids.txt", "--budget", "1")
        #expect(listed.output.isEmpty && listed.errors.contains("1 lines have no id"), "\(listed.errors)")
        // A list that is too large is not read in part.
        try await stage.expectRefusal(["refunds", "sweep", "--ids", "/dev/zero"], "has 64 MiB or more")
    }

    #if os(Linux)
        @Test("Refunds that could not be written are reported again", .timeLimit(.minutes(1)))
        func fullOutput() async throws {
            let stage = try await CommandFixture(customers: 12)
            try await refund(stage, 2)
            let sweep = "\(Binary.url.path) refunds sweep --budget 1 --config receipt-bridge.yaml"
            let full = try await Binary.run(
                URL(filePath: "/bin/sh"), ["-c", "\(sweep) >/dev/full"], in: stage.folder, exit: 3)
            #expect(full.errors.contains("receipt-bridge: standard output: no space left on device"), "\(full.errors)")
            let again = try await stage.run("refunds", "sweep", "--budget", "1")
            #expect(again.exit == 0 && again.lines.count >= 2, "\(again.errors)")
        }
    #endif

    @Test("A list can contain customers that the store does not have", .timeLimit(.minutes(1)))
    func listed() async throws {
        let stage = try await CommandFixture(customers: 36)
        let refunded = stage.appStore.world.customers.compactMap { customer in
            customer.transactions.first { $0.revocation != nil && $0.revocation?.type != "FAMILY_REVOKE" }
                .map { (customer, $0) }
        }
        let (customer, transaction) = try #require(refunded.first)
        let line = JSONValue([
            "originalTransactionId": customer.transactions[0].originalTransactionId,
            "environment": customer.environment.rawValue,
        ])
        try stage.folder.write("ids.jsonl", line.bytes + Array("\n999999999999999\n".utf8))
        let outcome = try await stage.run(
            "refunds", "sweep", "--ids", "ids.jsonl", "--budget", "1", exit: 1, says: "1 unknown to the App Store")
        #expect(ids(outcome.lines).contains(transaction.transactionId))
    }

    @Test("A list that was changed since an unfinished sweep is begun again, whatever its name")
    func edited() async throws {
        let stage = try await CommandFixture(customers: 8)
        let ids = stage.customers().compactMap(\.transactions.first?.originalTransactionId)
        try #require(ids.count > 2)
        let words = ["refunds", "sweep", "--ids", "ids.txt", "--budget", "1"]
        func sweep(_ ids: some Collection<String>, _ more: String...) async throws -> Binary.Outcome {
            try stage.folder.write("ids.txt", ids.joined(separator: "\n").utf8)
            return try await stage.run(words + more)
        }
        #expect(try await sweep(ids.dropFirst(), "--limit", "1").exit == 3)
        let begun = try await sweep(ids)
        #expect(begun.errors.contains("ids.txt is another list than that of the unfinished sweep"), "\(begun.errors)")
        #expect(begun.exit == 0 && begun.errors.contains("\(ids.count) of \(ids.count) customers"), "\(begun.errors)")
        // The same list is resumed.
        #expect(try await sweep(ids, "--limit", "1").exit == 3)
        let resumed = try await sweep(ids)
        #expect(resumed.errors.contains("\(ids.count - 1) of \(ids.count - 1) customers"), "\(resumed.errors)")
        #expect(!resumed.errors.contains("another list"))
    }

    @Test(
        "A sweep that is killed repeatedly reports exactly the refunds of an undisturbed one", .timeLimit(.minutes(1)))
    func killed() async throws {
        let stage = try await CommandFixture(customers: 30)
        try stage.configure("whole.yaml", store: "sqlite:whole.sqlite")
        try await refund(stage, 12)
        try await fill(stage, config: "whole.yaml")
        let requests = stage.appStore.requests
        var before = requests.total
        let whole = try await stage.run("refunds", "sweep", "--budget", "1", "--config", "whole.yaml")
        let undisturbed = requests.total - before
        #expect(whole.exit == 0 && whole.lines.count >= 12, "\(whole.errors)")
        var generator = SeededGenerator("refunds sweep, killed")
        stage.delay("refundHistory", milliseconds: 20)
        let (store, copy) = (stage.folder.path("bridge.sqlite"), stage.folder.path("before.sqlite"))
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        before = requests.total
        let last = try await KilledRuns(kills: TestSize.pick(debug: 3, release: 6)) {
            try stage.start("refunds", "sweep", "--to", "refunds.jsonl", "--budget", "1")
        } condition: { _, kill in
            // The first time when some refunds are reported, so that the later runs continue a file.
            let needed =
                kill == 0 ? before + undisturbed / 2 : requests.total + Int.random(in: 1...2, using: &generator)
            return { requests.total >= needed }
        } reset: {
            before = requests.total
            for name in try FileManager.default.contentsOfDirectory(atPath: stage.folder.url.path)
            where name.hasPrefix("bridge.sqlite") || name == "refunds.jsonl" {
                try FileManager.default.removeItem(atPath: stage.folder.path(name))
            }
            try FileManager.default.copyItem(atPath: copy, toPath: store)
        }.run()
        #expect(last == 0)
        stage.appStore.faults.removeAll()
        let reported = ids(try stage.folder.lines("refunds.jsonl"))
        #expect(Set(reported).count == reported.count)
        #expect(Set(reported) == Set(ids(whole.lines)))
        // A sweep asks about a customer only once, unless the response was lost.
        try await stage.run("refunds", "sweep", "--limit", "1", "--budget", "1", exit: 3, says: "stopped: --limit")
    }

    @Test(
        "A sweep that is killed before its first refund is recorded is resumed by the same command",
        .timeLimit(.minutes(1)))
    func killedEarly() async throws {
        let stage = try await CommandFixture(customers: 12)
        try await refund(stage, 3)
        let words = ["refunds", "sweep", "--to", "refunds.jsonl", "--budget", "1"]
        // So that it does not end before it is killed.
        stage.delay("refundHistory", milliseconds: 100)
        let sweep = try stage.start(words)
        await sweep.kill(whenWritten: stage.folder.path("refunds.jsonl"))
        #expect(await sweep.end() == -SIGKILL)
        stage.appStore.faults.removeAll()
        try await stage.run(words, exit: 0)
        let reported = ids(try stage.folder.lines("refunds.jsonl"))
        #expect(reported.count >= 3 && Set(reported).count == reported.count)
        // There was nothing new, so content that appears in the file later is not the sweep's.
        let empty = ["refunds", "sweep", "--to", "empty.jsonl", "--budget", "1"]
        #expect(try await stage.run(empty).exit == 0)
        try stage.folder.write("empty.jsonl", "mine\n".utf8)
        try await stage.expectRefusal(empty, "destinationExists")
        #expect(try stage.folder.text("empty.jsonl") == "mine\n")
    }

    @Test("A second sweep of the same store is refused")
    func locked() async throws {
        // So many that the sweep lasts much longer than the second process.
        let stage = try await CommandFixture(customers: 36)
        try await fill(stage)
        let before = stage.appStore.requests.total
        stage.delay("refundHistory", milliseconds: 500)
        let sweep = try stage.start("refunds", "sweep", "--budget", "1")
        #expect(
            await eventually {
                stage.appStore.requests.total > before
                    && FileManager.default.fileExists(atPath: stage.folder.path("bridge.sqlite.sweep"))
            })
        let second = try await stage.run(
            "refunds", "sweep", "--budget", "1", exit: 2, says: "another sweep is using this store")
        // By the lease in the store, which other machines see too. The lock of the progress file has no such advice.
        #expect(second.errors.contains("try again after 15 seconds"), "\(second.errors)")
        sweep.stop()
        #expect(await sweep.end() == 3 && sweep.errors.contains("stopped: interrupted by a signal"))
    }
}
