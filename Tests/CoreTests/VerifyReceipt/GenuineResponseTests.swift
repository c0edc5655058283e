import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// Compares every genuine response of Apple's in the corpus with our response from the receipt alone. Exactly the
/// listed differences are allowed; `docs/DIFFERENCES.md` gives the reason for each.
@Suite(
    "Genuine responses of Apple's",
    .enabled(if: Corpus.folder != nil, "no corpus of genuine receipts next to the checkout"))
struct GenuineResponseTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        /// A part of the name of the response file in the corpus, which no other file has.
        let answer: String
        /// The path of the receipt in the corpus, without extension; `nil` for Apple's `latest_receipt`, which has the
        /// purchases of the submitted receipt if none was bought or finished since.
        var receipt: String?
        /// The time of our response; `nil` for Apple's `request_date_ms`.
        var now: Timestamp?
        var excludesOldTransactions = false
        /// The expected differences, as ``AnswerDifferences`` writes them.
        let differences: [String]

        var testDescription: String { answer }
    }

    static let pairs = [
        Pair(
            answer: "PAIR-sandbox-demo-7iap-20150813-sha1-e5ef15",
            receipt: "app-receipts/sandbox-demo-7iap-20150813-sha1-e5ef15", now: nil,
            differences: ["latest_receipt: different value", "latest_receipt_info[]: 28 only Apple's"]),
        Pair(
            answer: "PAIR-sandbox-fashion-42iap-20201108-sha1-b5549e",
            receipt: "app-receipts/sandbox-fashion-42iap-20201108-sha1-b5549e", now: nil,
            differences: [
                "environment: different value",
                "latest_receipt: different value",
                "latest_receipt_info[]: 1 only Apple's",
                "latest_receipt_info[]: 42 only ours",
                "pending_renewal_info: only Apple's (1)",
                "receipt.bundle_id: different value",
                "receipt.in_app[].product_id: different value",
                "response: different order of keys",
            ]),
        Pair(
            answer: "PAIR-sandbox-v2-demo-sub-20151117-48b378",
            receipt: "transaction-receipts/sandbox-v2-demo-sub-20151117-48b378",
            now: Timestamp(seconds: 1_447_900_000),
            differences: [
                "latest_receipt: different value",
                "latest_receipt_info.transaction_id: different value",
                "latest_receipt_info.unique_vendor_identifier: different value",
                "latest_receipt_info: different order of keys",
                "receipt: different order of keys",
                "response: different order of keys",
            ]),
        Pair(
            answer: "PAIR-expired21006-sandbox-v2-demo-sub-20151117-48b378",
            receipt: "transaction-receipts/sandbox-v2-demo-sub-20151117-48b378",
            now: Timestamp(seconds: 1_700_000_000),
            differences: [
                "latest_expired_receipt_info.transaction_id: different value",
                "latest_expired_receipt_info.unique_vendor_identifier: different value",
                "latest_expired_receipt_info: different order of keys",
                "receipt: different order of keys",
                "response: different order of keys",
            ]),
    ]

    /// All responses of the corpus, except for those that their author made up.
    private static let files = Corpus.files(in: "responses").filter { !$0.lastPathComponent.hasPrefix("nov-") }

    @Test("Apple's response differs from the receipt's own only as listed", arguments: pairs + newer)
    func differences(pair: Pair) async throws {
        let folder = try #require(Corpus.folder)
        let file = try #require(Self.files.first { $0.lastPathComponent.contains(pair.answer) })
        let document = try JSONValue(reading: [UInt8](Data(contentsOf: file)))
        let apple = document["unified_receipt"] ?? document
        let text = try pair.receipt.map {
            try String(contentsOf: folder.appending(path: "\($0).b64"), encoding: .utf8)
        }
        let submitted = try #require(text ?? apple["latest_receipt"]?.text)
        let requestDate = apple["receipt"]?["request_date_ms"]?.text.flatMap { Int64($0) }
        let now = try #require(pair.now ?? requestDate.map(Timestamp.init(milliseconds:)))
        let service = try VerifyReceiptService(
            settings: ProxyConfiguration(), transport: nil, tables: .bundled, logger: Logger(label: "test"),
            now: { now })
        let request = JSONValue.object([
            "receipt-data": .string(submitted.trimmingCharacters(in: .whitespacesAndNewlines)),
            "exclude-old-transactions": .bool(pair.excludesOldTransactions),
        ])
        let reply = await service.answer(body: request.bytes, route: .auto, sources: [.receipt])
        var actual = AnswerDifferences()
        actual.compare(apple, try JSONValue(reading: reply.answer.body), at: "")
        #expect(actual.lines.sorted() == pair.differences.sorted())
    }

    @Test("Every pair of the corpus is compared")
    func complete() {
        for file in Self.files {
            let pairs = (Self.pairs + Self.newer).filter { file.lastPathComponent.contains($0.answer) }
            #expect(pairs.count == 1, "\(file.lastPathComponent)")
        }
        #expect(Self.files.count == Self.pairs.count + Self.newer.count)
    }
}

/// The differences of two responses, one line for each path. Rows of purchases are matched by their transaction id.
private struct AnswerDifferences {
    private(set) var lines: Set<String> = []

    mutating func compare(_ apple: JSONValue?, _ ours: JSONValue?, at path: String) {
        switch (apple, ours) {
        case (let apple?, nil): lines.insert("\(path): only Apple's\(apple.elements.map { " (\($0.count))" } ?? "")")
        case (nil, _?): lines.insert("\(path): only ours")
        case (.object(let apple)?, .object(let ours)?): compare(members: apple, ours, at: path)
        case (.array(let apple)?, .array(let ours)?): compare(rows: apple, ours, at: path)
        default: if apple != ours { lines.insert("\(path): different value") }
        }
    }

    private mutating func compare(members apple: [JSONValue.Member], _ ours: [JSONValue.Member], at path: String) {
        let (left, right) = (JSONValue.object(apple), JSONValue.object(ours))
        for key in apple.map(\.key) + ours.map(\.key).filter({ left[$0] == nil }) {
            compare(left[key], right[key], at: path.isEmpty ? key : "\(path).\(key)")
        }
        let shared = apple.map(\.key).filter { right[$0] != nil }
        if shared != ours.map(\.key).filter({ left[$0] != nil }) {
            lines.insert("\(path.isEmpty ? "response" : path): different order of keys")
        }
    }

    private mutating func compare(rows apple: [JSONValue], _ ours: [JSONValue], at path: String) {
        func id(_ row: JSONValue) -> String? { row["transaction_id"]?.text }
        let shared = apple.compactMap(id).filter(ours.compactMap(id).contains)
        for row in apple where id(row).map(shared.contains) == true {
            compare(row, ours.first { id($0) == id(row) }, at: "\(path)[]")
        }
        if shared != ours.compactMap(id).filter(shared.contains) { lines.insert("\(path)[]: different order of rows") }
        if apple.count > shared.count { lines.insert("\(path)[]: \(apple.count - shared.count) only Apple's") }
        if ours.count > shared.count { lines.insert("\(path)[]: \(ours.count - shared.count) only ours") }
    }
}
