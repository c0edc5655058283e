import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Comparison of receipts with live data of both endpoints")
struct LiveComparisonTests {
    /// Both of Apple's endpoints, with the responses of one recorded pair.
    private final class FakeAppStore: HTTPTransport {
        /// The verifyReceipt response.
        private let answer: [UInt8]
        private let history: [UInt8]
        private let statuses: [UInt8]
        /// HTTP status of App Store Server API responses; 401 rejects the key.
        private let status: Int
        private let requested = Mutex<[String]>([])

        init(_ pair: Recordings.Pair, verifyReceipt: [String: Any]? = nil, status: Int = 200) throws {
            func bytes(_ object: [String: Any]?) throws -> [UInt8] {
                try [UInt8](JSONSerialization.data(withJSONObject: object ?? [:]))
            }
            answer = try bytes(verifyReceipt ?? pair.verifyReceipt)
            history = try bytes(pair.history?.merging(["hasMore": false, "revision": "r"]) { $1 })
            statuses = try bytes(pair.statuses)
            self.status = status
        }

        /// Paths of the requests, in order.
        var requests: [String] { requested.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            requested.withLock { $0.append(request.url.text) }
            if request.url.text.hasSuffix("verifyReceipt") { return HTTPResponse(status: 200, body: answer) }
            guard status == 200 else { return HTTPResponse(status: status, body: []) }
            return HTTPResponse(status: 200, body: request.url.text.contains("subscriptions") ? statuses : history)
        }

        func shutDown(grace: Duration) async {}
    }

    /// - Parameter rows: Number of source rows with the receipt.
    private func compare(
        _ pair: Recordings.Pair, rows: Int = 1, asking apple: FakeAppStore
    ) async throws -> Recordings.Compared {
        let recordings = try await Recordings.world
        let receipt = try #require(recordings.store.receipts.first { $0.id == pair.id }).base64
        let lines = (0..<rows).map { "{\"id\":\"r\($0)\",\"receipt\":\"\(receipt)\"}\n" }.joined()
        return try await Recordings.compare(Array(lines.utf8), by: recordings.comparer(asking: apple), workers: 4)
    }

    /// A production App Receipt and its rows of `latest_receipt_info`.
    ///
    /// - Parameter isWanted: Called with these rows, and those of the history.
    private func pair(
        where isWanted: ([[String: Any]], [[String: Any]]) -> Bool = { listed, _ in !listed.isEmpty && listed.count < 12
        }
    ) async throws -> Recordings.Pair {
        for pair in try await Recordings.world.pairs where pair.verifyReceipt["environment"] as? String == "Production"
        {
            let texts = pair.history?["signedTransactions"] as? [String] ?? []
            let listed = pair.verifyReceipt["latest_receipt_info"] as? [[String: Any]] ?? []
            if isWanted(listed, try texts.map { try Recordings.payload($0) }) { return pair }
        }
        throw SharedSimulator.Missing(what: "a recorded pair")
    }

    @Test("Many rows with the same receipt are one customer, so it is too early to tell")
    func repeated() async throws {
        // Few rows, because the same receipt is compared 320 times: more often than the number of customers that is
        // enough for a verdict.
        let pair = try await pair { listed, history in !listed.isEmpty && listed.count < 4 && history.count < 4 }
        let outcome = try await compare(pair, rows: 320, asking: try FakeAppStore(pair))
        #expect(outcome.unexpected("rule", "path") == [])
        let sentence = try #require(outcome.sentences.first)
        #expect(
            sentence.hasPrefix(
                "Do not switch yet: com.example.app, Production. Too early to tell: 1 of 300 customers were compared. "),
            "\(sentence)")
        #expect(sentence.contains("All 320 receipts of 1 customer would get the same answer."))
    }

    @Test(
        "An unfinished consumable that is in the records but not in our response is a difference that clients see"
    )
    func consumable() async throws {
        func unlisted(_ history: [[String: Any]], _ listed: [[String: Any]]) -> [[String: Any]] {
            let ids = listed.compactMap { $0["transaction_id"] as? String }
            return history.filter {
                $0["type"] as? String == "Consumable" && $0["revocationDate"] == nil
                    && !ids.contains($0["transactionId"] as? String ?? "")
            }
        }
        let pair = try await pair { listed, history in !unlisted(history, listed).isEmpty }
        let texts = pair.history?["signedTransactions"] as? [String] ?? []
        var answer = pair.verifyReceipt
        var latest = answer["latest_receipt_info"] as? [[String: Any]] ?? []
        let row = try #require(unlisted(try texts.map { try Recordings.payload($0) }, latest).last)
        let id = try #require(row["transactionId"] as? String)
        let date = try #require(row["purchaseDate"] as? Int64)
        latest.append([
            "quantity": "\(row["quantity"] as? Int64 ?? 1)", "product_id": row["productId"] ?? "", "transaction_id": id,
            "original_transaction_id": row["originalTransactionId"] ?? "", "purchase_date_ms": "\(date)",
            "original_purchase_date_ms": "\(row["originalPurchaseDate"] as? Int64 ?? date)", "is_trial_period": "false",
            "in_app_ownership_type": "PURCHASED",
        ])
        answer["latest_receipt_info"] = latest
        let outcome = try await compare(pair, asking: try FakeAppStore(pair, verifyReceipt: answer))
        #expect(outcome.unexpected("rule", "path") == ["unfinishedConsumable latestTransactions[\(id)]"])
        #expect(outcome.sentences.first?.contains("0 of 1 receipt (0 %) would get the same answer") == true)
    }

    @Test("What differs only in the records is listed apart, and neither the sentence nor a count has it")
    func onlyInRecords() async throws {
        var pair = try await pair { listed, _ in
            listed.count < 12 && listed.contains { $0["expires_date_ms"] != nil }
                && listed.allSatisfy { $0["cancellation_date_ms"] == nil && $0["is_upgraded"] == nil }
        }
        let same = try await compare(pair, asking: try FakeAppStore(pair))
        // No response to an App Receipt has the status of a subscription.
        var statuses = try #require(pair.statuses)
        var groups = try #require(statuses["data"] as? [[String: Any]])
        var items = try #require(groups[0]["lastTransactions"] as? [[String: Any]])
        items[0]["status"] = items[0]["status"] as? Int == 2 ? 1 : 2
        groups[0]["lastTransactions"] = items
        statuses["data"] = groups
        pair.statuses = statuses
        let outcome = try await compare(pair, asking: try FakeAppStore(pair))
        let apart = outcome.differences.filter { $0["class"] as? String == "records" }
        #expect(apart.map { $0["rule"] as? String } == ["entitlement"])
        #expect(outcome.unexpected("rule", "path") == [] && outcome.ending.unexpected == 0)
        #expect(outcome.sentences == same.sentences)
        #expect(outcome.ending.report.markdown.contains("## Only in the records"))
        #expect(!same.ending.report.markdown.contains("## Only in the records"))
    }

    @Test("Data that only the rendered response has, and no record, is compared")
    func onlyInAnswer() async throws {
        let pair = try await pair()
        var answer = pair.verifyReceipt
        var receipt = answer["receipt"] as? [String: Any] ?? [:]
        receipt["original_application_version"] = "99.9"
        answer["receipt"] = receipt
        let outcome = try await compare(pair, asking: try FakeAppStore(pair, verifyReceipt: answer))
        #expect(outcome.unexpected("rule", "path").count == 1, "\(outcome.unexpected("rule", "path"))")
        #expect(
            outcome.unexpected("rule", "path").first?.hasPrefix("unexplained receipt.") == true,
            "\(outcome.unexpected("rule", "path"))")
    }

    @Test("A shared secret that Apple rejects stops the run at once, with a message about what to fix")
    func wrongSecret() async throws {
        let pair = try await pair()
        let apple = try FakeAppStore(pair, verifyReceipt: ["status": 21_004])
        let outcome = try await compare(pair, rows: 100, asking: apple)
        #expect(
            outcome.ending.stop?.sentence
                == "Apple rejected the sharedSecret of com.example.app (21004): it is missing, or not the one in App Store Connect"
        )
        #expect(outcome.ending.rows == 0 && outcome.ending.failed == 0 && outcome.differences.isEmpty)
        #expect(apple.requests.count <= 4, "\(apple.requests)")
    }

    @Test("A key that Apple rejects stops the run at once, with a message about what to fix")
    func wrongKey() async throws {
        let pair = try await pair()
        let apple = try FakeAppStore(pair, status: 401)
        let outcome = try await compare(pair, rows: 100, asking: apple)
        let sentence = try #require(outcome.ending.stop?.sentence)
        #expect(sentence.hasPrefix("the App Store rejected the key of com.example.app ("), "\(sentence)")
        #expect(sentence.hasSuffix("check issuerId, keyId and privateKey of its serverAPI"), "\(sentence)")
        #expect(outcome.ending.rows == 0 && outcome.ending.failed == 0 && outcome.differences.isEmpty)
        #expect(apple.requests.count <= 40, "\(apple.requests.count)")
    }
}
