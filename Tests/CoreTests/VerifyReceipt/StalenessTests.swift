import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeTestSupport
import Testing

@Suite("Staleness of receipts and of archived responses")
struct StalenessTests {
    /// A period of a subscription, in days after noon.
    struct Period: Sendable {
        let begin, end: Int64
        var original = "100"
        var isRefunded = false

        init(_ begin: Int64, _ end: Int64, of original: String = "100", isRefunded: Bool = false) {
            (self.begin, self.end, self.original, self.isRefunded) = (begin, end, original, isRefunded)
        }

        var purchase: InAppPurchase {
            var purchase = InAppPurchase()
            (purchase.transactionId, purchase.originalTransactionId) = ("\(original)\(begin)", original)
            purchase.purchaseDate = SharedSimulator.noon.advanced(by: .days(begin))
            purchase.expiresDate = SharedSimulator.noon.advanced(by: .days(end))
            purchase.cancellationDate = isRefunded ? SharedSimulator.noon : nil
            return purchase
        }

        var transactionReceipt: TransactionReceipt {
            let expires = SharedSimulator.noon.advanced(by: .days(end)).milliseconds
            let entries = [("expires-date", "\(expires)")] + (isRefunded ? [("cancellation-date-ms", "1")] : [])
            return TransactionReceipt(purchaseInfo: entries.map { .init(key: $0.0, value: $0.1) })
        }
    }

    static let receipts: [(name: String, periods: [Period], isStale: Bool)] = [
        ("no subscription", [], false), ("a current period", [Period(-5, 25)], false),
        ("a period that ends now", [Period(-30, 0)], true), ("an ended period", [Period(-35, -5)], true),
        ("an ended period before the current one", [Period(-35, -5), Period(-5, 25)], false),
        ("a refunded period", [Period(-35, -5, isRefunded: true)], false),
        ("a refunded current period", [Period(-35, -5), Period(-5, 25, isRefunded: true)], false),
        ("the refund of an older period", [Period(-65, -35, isRefunded: true), Period(-35, -5)], true),
        ("one of two subscriptions", [Period(-5, 25), Period(-35, -5, of: "200")], true),
    ]

    @Test("A receipt may be stale if its newest period has ended and was not refunded", arguments: receipts)
    func receipt(name: String, periods: [Period], isStale: Bool) {
        var receipt = AppReceipt()
        receipt.purchases = periods.map(\.purchase)
        #expect(ReceiptContents.app(receipt).mayBeStale(at: SharedSimulator.noon) == isStale)
        guard periods.count == 1 else { return }
        let flat = ReceiptContents.transaction(periods[0].transactionReceipt)
        #expect(flat.mayBeStale(at: SharedSimulator.noon) == isStale)
    }

    /// Apple's response for a subscription whose period ends some hours after noon: its state, and the hours after noon
    /// at which it may be outdated.
    static let responses: [(name: String, ends: Int64, state: String?, current: [Int64], stale: [Int64])] = [
        ("renewal on", 5, #""auto_renew_status":"1""#, [0, 4], [5, 500]),
        ("renewal off", 5, #""auto_renew_status":"0""#, [4, 6, 500], []), ("renewal unknown", 5, nil, [4], [6]),
        ("expired", -5, #""auto_renew_status":"0""#, [0, 100], []),
        ("expired, renewal on", -5, #""auto_renew_status":"1""#, [], [0]),
        ("in billing retry", -5, #""auto_renew_status":"0","is_in_billing_retry_period":"1""#, [], [0]),
        (
            "in grace period", -5,
            #""auto_renew_status":"1","grace_period_expires_date_ms":"\#(SharedSimulator.noon.milliseconds + 3_600_000)""#,
            [0], [2]
        ),
    ]

    @Test("A response is outdated if its subscription ended and may have been renewed since", arguments: responses)
    func response(name: String, ends: Int64, state: String?, current: [Int64], stale: [Int64]) throws {
        func milliseconds(_ hours: Int64) -> Int64 { SharedSimulator.noon.advanced(by: .hours(hours)).milliseconds }
        let rows = [ends - 720, ends].enumerated().map {
            #"{"transaction_id":"\#($0)","original_transaction_id":"1","expires_date_ms":"\#(milliseconds($1))"}"#
        }
        let pending = state.map { #","pending_renewal_info":[{"original_transaction_id":"1",\#($0)}]"# } ?? ""
        let body = #"{"status":0,"latest_receipt_info":[\#(rows.joined(separator: ","))]\#(pending)}"#
        let archived = ArchivedResponse(status: .valid, body: Array(body.utf8), latestReceipt: nil)
        let restored = try #require(RestoredResponse(archived, keptAt: SharedSimulator.noon))
        let isStale = (current + stale).map { hour in
            restored.mayBeStale(at: SharedSimulator.noon.advanced(by: .hours(hour)), revocations: RevocationIndex())
        }
        #expect(isStale == current.map { _ in false } + stale.map { _ in true })
    }
}
