import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import Foundation
import Logging
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

/// Compares the receipt data of genuine receipts with Apple's responses to them.
@Suite(
    "Pairs of genuine receipts and responses",
    .enabled(if: Corpus.folder != nil, "no corpus of genuine receipts next to the checkout"))
struct GenuineComparisonTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        let answer: String
        let receipt: String
        /// Seconds since 1970; `nil` for Apple's `request_date_ms`.
        let now: Int64?
        /// Differences by class, rule and path.
        let differences: Set<String>

        var testDescription: String { answer }
    }

    static let pairs = [
        Pair(
            answer: "PAIR-sandbox-demo-7iap-20150813-sha1-e5ef15",
            receipt: "app-receipts/sandbox-demo-7iap-20150813-sha1-e5ef15", now: nil, differences: []),
        // The names in this published response were changed; the receipt is as Apple signed it.
        Pair(
            answer: "PAIR-sandbox-fashion-42iap-20201108-sha1-b5549e",
            receipt: "app-receipts/sandbox-fashion-42iap-20201108-sha1-b5549e", now: nil,
            differences: [
                "unexpected bundleId receipt.bundleId", "unexpected productId transactions[].productId",
            ]),
        Pair(
            answer: "PAIR-sandbox-v2-demo-sub-20151117-48b378",
            receipt: "transaction-receipts/sandbox-v2-demo-sub-20151117-48b378", now: 1_447_900_000, differences: []),
        Pair(
            answer: "PAIR-expired21006-sandbox-v2-demo-sub-20151117-48b378",
            receipt: "transaction-receipts/sandbox-v2-demo-sub-20151117-48b378", now: 1_700_000_000,
            differences: []),
    ]

    @Test(
        "Genuine receipts and responses agree, except for values that were changed in a published response",
        arguments: pairs)
    func receipt(pair: Pair) async throws {
        let folder = try #require(Corpus.folder)
        let apple = try ComparedAnswer(
            verifyReceipt: [UInt8](Data(contentsOf: folder.appending(path: "responses/\(pair.answer).json"))))
        let text = try String(contentsOf: folder.appending(path: "\(pair.receipt).b64"), encoding: .utf8)
        let now = try #require(pair.now.map(Timestamp.init(seconds:)) ?? apple.requestDate)
        let service = try VerifyReceiptService(
            settings: ProxyConfiguration(), transport: nil, tables: .bundled, logger: Logger(label: "test"),
            now: { now })
        let reply = await service.answer(
            body: Question.body(text.trimmingCharacters(in: .whitespacesAndNewlines)), route: .auto,
            sources: [.receipt])
        let comparison = Comparison(
            verifyReceipt: apple, serverAPI: try ComparedAnswer(verifyReceipt: reply.answer.body),
            context: ComparisonContext(receipt: pair.answer, now: now))
        let found = comparison.differences.filter {
            $0.path.hasPrefix("receipt.") || $0.path.hasPrefix("transactions") || $0.path == "status"
        }
        #expect(Set(found.map { "\($0.verdict.rawValue) \($0.rule) \($0.path)" }) == pair.differences)
    }
}
