import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Recorded pairs")
struct RecordedPairTests {
    private func compare(
        _ lines: [[UInt8]], overrides: [String: RuleOverride] = [:]
    ) async throws -> Recordings.Compared {
        try await Recordings.compare(lines.flatMap { $0 }, by: Recordings.world.comparer(overrides: overrides))
    }

    private func unexpected(_ outcome: Recordings.Compared) -> [String] { outcome.unexpected("receipt", "rule") }

    @Test("Recordings of a whole simulated store have no unexpected difference, and every row is verified")
    func world() async throws {
        let pairs = try await Recordings.world.pairs
        let outcome = try await compare(try pairs.map { try $0.line })
        #expect(unexpected(outcome) == [])
        #expect(outcome.ending.compared == Int64(pairs.count) && outcome.ending.failed == 0)
        #expect(outcome.ending.report.unverified == 0)
        #expect(outcome.ending.report.historyVersions == [2: Int64(pairs.count)])
        #expect(outcome.differences.allSatisfy { Set($0.keys).count == 6 })
    }

    @Test("If the history or the statuses were not recorded, only the other part is compared")
    func halves() async throws {
        let pairs = try await Recordings.world.sample
        #expect(pairs.count > 35)
        for half in ["history", "statuses", "appAppleId"] {
            let lines = try pairs.map { pair in
                var pair = pair
                switch half {
                case "history": pair.history = nil
                case "statuses": pair.statuses = nil
                default:
                    pair.history?["appAppleId"] = nil
                    pair.statuses?["appAppleId"] = nil
                }
                return try pair.line
            }
            let outcome = try await compare(lines)
            #expect(
                unexpected(outcome) == [],
                "without \(half): \(outcome.differences.filter { $0["class"] as? String == "unexpected" }.prefix(3))")
            #expect(outcome.ending.compared == Int64(pairs.count))
            // A partial comparison without differences is no reason to switch.
            let sentences = outcome.sentences.joined(separator: "\n")
            #expect(sentences.contains("in part only") == (half != "appAppleId"), "\(sentences)")
        }
    }

    @Test("Every manual change is found with its rule and receipt, and there are no other differences")
    func planted() async throws {
        var pairs = try await Recordings.world.pairs
        var wanted: Set<String> = []
        func rows(_ pair: Recordings.Pair) -> [[String: Any]] {
            pair.verifyReceipt["latest_receipt_info"] as? [[String: Any]] ?? []
        }
        func change(_ rule: String, _ index: Int, _ body: (inout [String: Any]) -> Void) {
            var list = rows(pairs[index])
            body(&list[list.count - 1])
            pairs[index].verifyReceipt["latest_receipt_info"] = list
            wanted.insert("\(pairs[index].id) \(rule)")
        }
        let plain = pairs.indices.filter { index in
            let list = rows(pairs[index])
            return list.count > 1 && list.count < 50
                && list.allSatisfy { $0["cancellation_date_ms"] == nil && $0["expires_date_ms"] != nil }
        }
        try #require(plain.count >= 6)
        change("productId", plain[0]) { $0["product_id"] = "<script>alert(1)</script>" }
        change("expiresDate", plain[1]) { $0["expires_date_ms"] = "4102444800000" }
        change("cancellation", plain[2]) { $0["cancellation_date_ms"] = "1790000000000" }
        change("ownership", plain[3]) { $0["in_app_ownership_type"] = "FAMILY_SHARED" }
        pairs[plain[4]].verifyReceipt["status"] = 21_003
        wanted.insert("\(pairs[plain[4]].id) signature")
        var history = pairs[plain[5]].history?["signedTransactions"] as? [String] ?? []
        let newest = rows(pairs[plain[5]]).last?["transaction_id"] as? String
        history.removeAll { (try? Recordings.payload($0)["transactionId"] as? String) == newest }
        pairs[plain[5]].history?["signedTransactions"] = history
        wanted.insert("\(pairs[plain[5]].id) missingTransaction")

        let outcome = try await compare(try pairs.map { try $0.line })
        let found = Set(unexpected(outcome))
        // A changed expiration date or a cancellation may also contradict the status of the subscription.
        #expect(
            found.subtracting(wanted).allSatisfy { [1, 2].map { "\(pairs[plain[$0]].id) entitlement" }.contains($0) },
            "\(found)")
        #expect(wanted.subtracting(found) == [])
        #expect(outcome.ending.unexpected == 6)
        let readiness = try #require([Readiness](outcome.ending.report).first { $0.verdict == .notSafe })
        #expect(readiness.sentence.hasPrefix("Do not switch yet: "))
        #expect(outcome.ending.report.pairs.contains { $0.receipt == pairs[plain[0]].id })
    }

    @Test("Changed original ids are found, 30 of 30, and no other receipt has a difference")
    func originalIds() async throws {
        var pairs = try await Recordings.world.pairs
        var planted: Set<String> = []
        for index in pairs.indices where planted.count < 30 {
            var rows = pairs[index].verifyReceipt["latest_receipt_info"] as? [[String: Any]] ?? []
            guard let place = rows.indices.last(where: { rows[$0]["web_order_line_item_id"] != nil }) else { continue }
            rows[place]["original_transaction_id"] = "70000000000\(1_000 + index)"
            pairs[index].verifyReceipt["latest_receipt_info"] = rows
            planted.insert(pairs[index].id)
        }
        try #require(planted.count == 30)
        let outcome = try await compare(try pairs.map { try $0.line })
        let found = Set(unexpected(outcome))
        #expect(found.isSuperset(of: planted.map { "\($0) originalTransactionId" }))
        // A subscription without its newest period also contradicts its status.
        #expect(
            found.isSubset(
                of: planted.flatMap { id in ["originalTransactionId", "entitlement"].map { "\(id) \($0)" } }))
        #expect(outcome.ending.unexpected == 30)
    }

    @Test(
        "A recorded response whose status is no result for the receipt is not compared",
        arguments: [21_004, 21_005, 21_100])
    func noVerdict(status: Int) async throws {
        var pair = try #require(try await Recordings.world.pairs.first)
        pair.verifyReceipt = ["status": status]
        let outcome = try await compare([try pair.line])
        #expect(outcome.ending.compared == 0)
        #expect(outcome.ending.report.apps.map(\.failures) == [["verifyReceipt.\(status)": 1]])
    }

    /// A receipt of the simulated store with both sides.
    private func whole(_ isWanted: (Recordings.Pair) -> Bool) async throws -> Recordings.Pair {
        let world = try await Recordings.world
        let found = world.pairs.first(where: isWanted)
        var pair = try #require(found)
        pair.receipt = try #require(world.store.receipts.first { $0.id == pair.id }).base64
        return pair
    }

    private func subscribes(_ pair: Recordings.Pair) -> Bool {
        (pair.verifyReceipt["latest_receipt_info"] as? [[String: Any]])?.count ?? 0 > 1
    }

    @Test("Recordings of a whole simulated store with receipts get the same answer")
    func worldWithReceipts() async throws {
        let world = try await Recordings.world
        let receipts = Dictionary(world.store.receipts.map { ($0.id, $0.base64) }, uniquingKeysWith: { $1 })
        let lines = try world.pairs.map { pair in
            var pair = pair
            pair.receipt = receipts[pair.id]
            return try pair.line
        }
        let outcome = try await compare(lines)
        // These are unexpected because clients see them, see LiveComparisonTests.
        let others = unexpected(outcome).filter { !$0.hasSuffix(" unfinishedConsumable") }
        #expect(others == [])
        #expect(outcome.ending.compared == Int64(lines.count) && outcome.ending.failed == 0)
        #expect(outcome.ending.report.apps.allSatisfy { $0.recordsOnly ?? 0 == 0 })
    }

    @Test("A pair with its receipt is also compared with the response rendered for it")
    func rendered() async throws {
        var pair = try await whole(subscribes)
        var receipt = pair.verifyReceipt["receipt"] as? [String: Any] ?? [:]
        receipt["original_application_version"] = "99.9"
        pair.verifyReceipt["receipt"] = receipt
        let outcome = try await compare([try pair.line])
        #expect(unexpected(outcome) == ["\(pair.id) unexplained"])
        #expect(outcome.ending.report.apps.map { $0.recordsOnly ?? 0 } == [0])
        // No record contains the version that was purchased first.
        pair.receipt = nil
        let without = try await compare([try pair.line])
        #expect(unexpected(without) == [])
        #expect(without.ending.report.apps.map(\.recordsOnly) == [1])
    }

    @Test("Without signed rows and statuses no response is rendered, and only the records are compared")
    func notRendered() async throws {
        let pair = try await whole(subscribes)
        var decoded = pair
        let texts = pair.history?["signedTransactions"] as? [String] ?? []
        decoded.history?["signedTransactions"] = try texts.map { try Recordings.payload($0) }
        var half = pair
        half.statuses = nil
        // Rows that were recorded decoded are marked as unverified.
        for (pair, unverified) in [(decoded, 1), (half, 0)] {
            let outcome = try await compare([try pair.line])
            #expect(unexpected(outcome) == [] && outcome.ending.report.unverified == unverified)
            #expect(outcome.ending.report.apps.map(\.recordsOnly) == [1])
        }
    }

    @Test("A receipt that is not authentic contradicts a response with status 0")
    func forgedReceipt() async throws {
        var pair = try await whole(subscribes)
        pair.receipt = String(try #require(pair.receipt).dropLast(400))
        let outcome = try await compare([try pair.line])
        #expect(unexpected(outcome) == ["\(pair.id) signature"])
        #expect(outcome.ending.report.apps.map(\.recordsOnly) == [1])
    }

    @Test("An app's override of a rule has precedence")
    func overrides() async throws {
        var pair = try #require(try await Recordings.world.pairs.first)
        pair.verifyReceipt["unheard_of"] = 1
        #expect(unexpected(try await compare([try pair.line])).count == 1)
        let calm = try await compare([try pair.line], overrides: ["unexplained": .expected])
        #expect(unexpected(calm) == [] && calm.ending.unexpected == 0)
    }

    @Test(
        "Sides that are missing, empty, HTML pages, forged or no responses are counted by error code")
    func hostile() async throws {
        let pairs = try await Recordings.world.pairs
        let pair = try #require(pairs.first)
        let text = try String(decoding: pair.line.dropLast(), as: UTF8.self)
        var forged = pair
        let rows = pair.history?["signedTransactions"] as? [String] ?? []
        let first = try #require(rows.first)
        forged.history?["signedTransactions"] = [String(first.dropLast(8)) + "AAAAAAAA"]
        let lines: [(line: String, code: String)] = [
            ("{\"id\":\"a\",\"verifyReceipt\":{\"status\":0,\"receipt\":{}}}", "serverAPI.missing"),
            ("{\"id\":\"b\",\"history\":{\"signedTransactions\":[]}}", "verifyReceipt.missing"),
            ("{\"id\":\"c\",\"verifyReceipt\":\"<html></html>\",\"history\":{}}", "verifyReceipt.html"),
            ("{\"id\":\"d\",\"verifyReceipt\":\"\",\"history\":{}}", "verifyReceipt.empty"),
            ("{\"id\":\"e\",\"verifyReceipt\":[],\"history\":{}}", "verifyReceipt.malformed"),
            ("{\"id\":\"f\",\"verifyReceipt\":{\"status\":0},\"history\":\"<!DOCTYPE html>\"}", "history.html"),
            ("{\"id\":\"g\",\"verifyReceipt\":{\"status\":0},\"history\":{}}", "history.notAnAnswer"),
            ("{\"id\":\"h\",\"verifyReceipt\":{\"status\":0},\"statuses\":{\"data\":7}}", "statuses.badValue"),
            (try String(decoding: forged.line.dropLast(), as: UTF8.self), "history.notAuthentic"),
            ("{\"id\":\"i\"}", "missing"), ("{\"id\":\"j\",\"receipt\":\"bm8=\"}", "notAReceipt"),
            ("{\"id\":\"k\",\"receipt\":730000000000061}", "transactionIdsOnly"), ("no JSON", "notJSON"),
            (pairs.dropFirst().isEmpty ? "" : text, ""),
        ]
        let outcome = try await compare(lines.map { Array($0.line.utf8) + [0x0A] })
        var failures: [String: Int64] = [:]
        for app in outcome.ending.report.apps { failures.merge(app.failures, uniquingKeysWith: +) }
        for (line, code) in lines where !code.isEmpty {
            #expect(failures[code] == 1, "\(code): \(line.prefix(60)) \(failures)")
        }
        #expect(outcome.ending.compared == 1 && outcome.ending.failed == 13)
    }

    @Test("The history of another customer or environment is reported as different")
    func strangers() async throws {
        let pairs = try await Recordings.world.pairs
        let production = try #require(
            pairs.first { $0.verifyReceipt["environment"] as? String == "Production" })
        let stranger = try #require(
            pairs.last {
                $0.verifyReceipt["environment"] as? String == "Production" && $0.id.prefix(7) != production.id.prefix(7)
            })
        let sandbox = try #require(pairs.first { $0.verifyReceipt["environment"] as? String == "Sandbox" })
        var first = production
        first.history = stranger.history
        first.statuses = stranger.statuses
        var second = production
        second.id = "second"
        second.history = sandbox.history
        second.statuses = sandbox.statuses
        let outcome = try await compare([try first.line, try second.line])
        #expect(outcome.ending.unexpected == 2)
        #expect(unexpected(outcome).contains { $0.hasPrefix("second environment") })
    }

    @Test("The report states that version 1 of the history was used")
    func versions() async throws {
        let pair = try #require(try await Recordings.world.pairs.first)
        var line = try String(decoding: pair.line.dropLast(2), as: UTF8.self)
        line += ",\"historyVersion\":1}\n"
        let outcome = try await compare([Array(line.utf8)])
        #expect(outcome.ending.report.historyVersions == [1: 1])
    }
}
