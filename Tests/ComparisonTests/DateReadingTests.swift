import ReceiptBridgeBase
import ReceiptBridgeComparison
import Testing

@Suite("Dates in responses")
struct DateReadingTests {
    @Test(
        "Milliseconds have precedence in any key order; texts are used only without them",
        arguments: [
            (["purchase_date": "2001-09-09 01:46:40 Etc/GMT"], 1_000_000_000_000),
            (["purchase_date": "2001-09-09 01:46:41 Etc/GMT", "purchase_date_ms": "1000000000007"], 1_000_000_000_007),
            (
                ["purchase_date": "1000000000007", "purchase_date_formatted": "2001-09-09 01:46:40 Etc/GMT"],
                1_000_000_000_007
            ),
            (["purchase_date_formatted": "2001-09-09 01:46:40 Etc/GMT"], 1_000_000_000_000),
            (["purchase_date": "", "purchase_date_ms": "1000000000007"], 1_000_000_000_007),
            (["purchase_date_pst": "2001-09-08 18:46:40 America/Los_Angeles"], 1_000_000_000_000),
            (
                [
                    "purchase_date": "2001-09-09 01:46:40 Etc/GMT",
                    "purchase_date_pst": "2001-01-01 00:00:00 America/Los_Angeles",
                ], 1_000_000_000_000
            ),
        ] as [([String: String], Int64)])
    func dates(members: [String: String], milliseconds: Int64) throws {
        let answer = try ComparedAnswer(
            verifyReceipt: try ComparisonFixture.bytes(
                ["status": 0, "latest_receipt_info": [members]] as [String: Any]))
        #expect(answer.latest?.first?[.purchaseDate] == .instant(Timestamp(milliseconds: milliseconds)))
    }

    @Test(
        "A value that is not a date stays a text", arguments: ["soon", "99999999999999999999", "-9223372036854775808"])
    func noDate(text: String) throws {
        let answer = try ComparedAnswer(
            verifyReceipt: try ComparisonFixture.bytes(
                ["status": 0, "latest_receipt_info": [["purchase_date_ms": text]]] as [String: Any]))
        #expect(answer.latest?.first?[.purchaseDate] == .text(text))
    }
}
