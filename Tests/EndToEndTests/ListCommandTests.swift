import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Commands that work through a list of ids")
struct ListCommandTests {
    private static let members = ["orderId", "status", "transactions"]

    private func orders(_ stage: CommandFixture) -> [String] {
        stage.customers().flatMap(\.transactions).map(\.orderId)
    }

    @Test("orders lookup --ids prints a line for each id")
    func printed() async throws {
        let stage = try await CommandFixture(customers: 4)
        let known = try #require(orders(stage).first)
        try stage.folder.write("ids.txt", "\(known)\n\n  MNOTHING \r\n\(known)\n../../x\n".utf8)
        let words = ["orders", "lookup", "--ids", "ids.txt", "--budget", "1"]
        for _ in 0..<2 {
            let outcome = try await stage.run(words, exit: 1, says: "3 of 3 ids: 2 without success")
            try #require(outcome.lines.count == 3, "\(outcome.errors)")
            #expect(outcome.lines.map { $0["orderId"]?.text } == [known, "MNOTHING", "../../x"])
            #expect(outcome.lines.map { $0["status"]?.integer } == [0, 1, nil])
            #expect(outcome.lines[0].keys == Self.members && outcome.lines[0]["transactions"]?.elements?.count == 1)
            #expect(outcome.lines[2].keys == Self.members + ["reason"])
        }
        for (arguments, reason) in [
            (["orders", "lookup"], "specify one order id, or --ids"),
            (["orders", "lookup", "M1", "--ids", "ids.txt"], "specify one order id, or --ids"),
            (["orders", "lookup", "M1", "--to", "a.jsonl"], "need --ids"),
            (["orders", "lookup", "--ids", "missing.txt"], "missing.txt: cannot be read: there is no such file"),
            (["orders", "lookup", "--ids", "-"], "needs --to"),
        ] { try await stage.expectRefusal(arguments, reason) }
    }

    @Test("A list that is stopped resumes; a finished one does nothing; another list in the same file is refused")
    func resumed() async throws {
        let stage = try await CommandFixture(customers: 8)
        let ids = Array(Set(orders(stage))).sorted()
        try #require(ids.count > 5)
        try stage.folder.write("ids.txt", ids.joined(separator: "\n").utf8)
        let words = ["orders", "lookup", "--ids", "ids.txt", "--to", "results.jsonl", "--budget", "1"]
        try await stage.run(words + ["--limit", "2"], exit: 3, says: "stopped: --limit")
        #expect(try stage.folder.lines("results.jsonl").map { $0["orderId"]?.text } == Array(ids.prefix(2)))
        // An unfinished line of a run that was killed is cut off.
        try stage.folder.append("results.jsonl", #"{"orderId":"M"#.utf8)
        let second = try await stage.run(words)
        #expect(second.exit == 0 && second.output.isEmpty, "\(second.errors)")
        let lines = try stage.folder.lines("results.jsonl")
        #expect(lines.map { $0["orderId"]?.text } == ids)
        let calls = stage.appStore.requests.total
        try await stage.run(words, exit: 0, says: "all ids of this list are done")
        #expect(stage.appStore.requests.total == calls)
        try stage.folder.write("ids.txt", "M1".utf8)
        try await stage.expectRefusal(words, "belongs to another list or to other options")
        try await stage.run(words + ["--fresh"], exit: 1)
        #expect(try stage.folder.lines("results.jsonl").map { $0["orderId"]?.text } == ["M1"])
    }

    @Test("Ids that fail for now have no line, and the next run tries them again")
    func retried() async throws {
        let stage = try await CommandFixture(customers: 4)
        let ids = Array(Set(orders(stage))).sorted().prefix(3)
        try stage.folder.write("ids.txt", ids.joined(separator: "\n").utf8)
        let words = ["orders", "lookup", "--ids", "ids.txt", "--to", "results.jsonl", "--budget", "1"]
        stage.appStore.faults.add(SimulatedFault(.body(#"{"errorCode":4040002}"#), endpoint: "orderLookup"))
        try await stage.run(words, exit: 3, says: "3 failed for now")
        stage.appStore.faults.removeAll()
        try await stage.run(words, exit: 0)
        #expect(try stage.folder.lines("results.jsonl").map { $0["orderId"]?.text } == Array(ids))
    }

    @Test("renewals extend --ids tells the limit of each subscription, and never extends twice in one run")
    func extended() async throws {
        let stage = try await CommandFixture()
        let subscriptions = stage.extendable().map(\.renewal.originalTransactionId)
        let (full, other) = (try #require(subscriptions.first), try #require(subscriptions.last))
        try #require(full != other)
        for _ in 0..<2 {
            try await stage.run(
                "renewals", "extend", "--original-transaction-id", full, "--days", "1", "--reason", "1", exit: 0)
        }
        try stage.folder.write(
            "ids.txt", "\(full)\n\(other)\n{\"originalTransactionIds\":[\"999999999999999\"]}\n".utf8)
        let words = [
            "renewals", "extend", "--ids", "ids.txt", "--days", "7", "--reason", "3", "--to", "results.jsonl",
            "--budget", "1",
        ]
        let before = stage.appStore.requests.total
        let preview = try await stage.run(words.filter { !["--to", "results.jsonl"].contains($0) } + ["--dry-run"])
        #expect(preview.lines.map { $0["outcome"]?.text } == ["possible", "possible", "possible"], "\(preview.errors)")
        #expect(stage.appStore.requests.total == before)
        try await stage.run(words, exit: 1, says: "3 of 3 ids: 2 without success")
        let lines = try stage.folder.lines("results.jsonl")
        try #require(lines.count == 3)
        #expect(lines.map { $0["outcome"]?.text } == ["limit", "extended", "notFound"])
        #expect(lines.map { $0["originalTransactionId"]?.text } == [full, other, "999999999999999"])
        #expect(lines[0]["reason"]?.text?.contains("already been extended twice in 365 days") == true)
        #expect(lines[1]["effectiveDate"]?.integer != nil && lines[1]["reason"] == .null)
        #expect(stage.appStore.requests.count("extend.production") == 5)
        let again = try await stage.run(words)
        #expect(again.exit == 1 && stage.appStore.requests.count("extend.production") == 5, "\(again.errors)")
        for (more, reason) in [
            (["--days", "91"], "--days: 1 to 90"), (["--request-id", "a"], "--request-id: not with --ids"),
            (["--mass", "--product-id", "a"], "specify one of"),
        ] { try await stage.expectRefusal(words + more, reason) }
    }

    @Test("tokens set sets the account token of a purchase, in lower case")
    func token() async throws {
        let stage = try await CommandFixture(customers: 4, store: nil)
        let purchase = try #require(stage.customers().flatMap(\.transactions).first { !$0.isFamilyShared })
        let token = "5F0C1D1E-6F2B-4C8A-9D3E-7A1B2C3D4E5F"
        let id = purchase.originalTransactionId
        let preview = try await stage.preview(["tokens", "set", id, token])
        #expect(preview["method"]?.text == "PUT")
        #expect(preview["url"]?.text?.hasSuffix("/inApps/v1/transactions/\(id)/appAccountToken") == true)
        let set = try await stage.run("tokens", "set", id, token, exit: 0)
        #expect(
            set.text
                == "{\"originalTransactionId\":\"\(id)\",\"appAccountToken\":\"\(token.lowercased())\"}\n")
        let order = try await stage.run("orders", "lookup", purchase.orderId)
        #expect(order.lines.first?["transactions"]?.elements?.first?["appAccountToken"]?.text == token.lowercased())
        try await stage.expectRefusal(["tokens", "set", id, "nobody"], "the token is not a UUID")
        try await stage.expectRefusal(["tokens", "set", "0", token], "1 to 20 digits")
    }
}
