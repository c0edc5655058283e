import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing

@Suite("latest_receipt_info, from the receipt alone")
struct LatestReceiptInfoTests {
    private func latest(_ purchases: [InAppPurchase], _ options: AnswerOptions = AnswerOptions()) throws -> [String] {
        let json = answer(.app(appReceipt(purchases: purchases)), options: options)
        return try values(of: "transaction_id", in: "latest_receipt_info", of: json)
    }

    @Test("Rows are in order of purchase date, then of the id as a number")
    func order() throws {
        let purchases = [
            month("1000", day: 2), lifetime("20", day: 1), month("999", day: 2), month("5", day: 3),
            month("100000000000000000000", day: 2), month("18446744073709551615", day: 2),
        ]
        let ascending = ["20", "999", "1000", "18446744073709551615", "100000000000000000000", "5"]
        #expect(try latest(purchases, AnswerOptions(latestReceiptInfoOrder: .ascending)) == ascending)
        #expect(try latest(purchases, AnswerOptions(latestReceiptInfoOrder: .descending)) == ascending.reversed())
    }

    @Test("The newest row is first in production and last in the sandbox, whether rows are excluded or sorted already")
    func applesOrder() throws {
        for purchases in [[month("1", day: 1), month("2", day: 2)], [month("2", day: 2), month("1", day: 1)]] {
            for (environment, expected) in [(AppStoreEnvironment.production, ["2", "1"]), (.sandbox, ["1", "2"])] {
                let json = answer(.app(appReceipt(purchases: purchases)), environment: environment)
                #expect(try values(of: "transaction_id", in: "latest_receipt_info", of: json) == expected)
                #expect(try values(of: "transaction_id", in: "in_app", of: json) == purchases.map(\.transactionId))
            }
        }
        let two = [month("1", of: "1", day: 1), month("2", of: "2", day: 2), month("3", of: "2", day: 3)]
        for (environment, expected) in [(AppStoreEnvironment.production, ["3", "1"]), (.sandbox, ["1", "3"])] {
            let json = answer(
                .app(appReceipt(purchases: two)), environment: environment,
                options: AnswerOptions(excludesOldTransactions: true))
            #expect(try values(of: "transaction_id", in: "latest_receipt_info", of: json) == expected)
        }
    }

    @Test("The newest 100 rows are kept, in either order")
    func cap() throws {
        let days = (1...187).map { $0 * 67 % 187 }
        let purchases = days.map { month("id\($0)", day: Int64($0)) }
        let expected = (87..<187).map { "id\($0)" }
        #expect(try latest(purchases, AnswerOptions(latestReceiptInfoOrder: .ascending)) == expected)
        #expect(try latest(purchases, AnswerOptions(latestReceiptInfoOrder: .descending)) == expected.reversed())
        let json = answer(.app(appReceipt(purchases: purchases)))
        #expect(try values(of: "transaction_id", in: "in_app", of: json).count == 187)
    }

    @Test("exclude-old-transactions keeps the newest row of each subscription and of each other product")
    func thinned() throws {
        let purchases = [
            lifetime("7", day: 90), lifetime("8", day: 5), lifetime("9", of: "month", day: 20),
            month("3", of: "1", day: 60), month("1", of: "1", day: 0),
            month("2", of: "1", day: 30), month("50", of: "50", day: 10), month("51", of: "50", day: 10),
        ]
        let json = answer(.app(appReceipt(purchases: purchases)), options: AnswerOptions(excludesOldTransactions: true))
        #expect(try values(of: "transaction_id", in: "latest_receipt_info", of: json) == ["7", "3", "9", "51"])
        #expect(try values(of: "transaction_id", in: "in_app", of: json).count == 8)
    }

    @Test("Rows are excluded before the limit of 100 applies, so an old row of a second subscription remains")
    func thinnedBeforeCap() throws {
        let newer = (2...150).map { month("\($0)", of: "2", day: Int64($0)) }
        let purchases = [month("1", of: "1", day: -1)] + newer
        #expect(try latest(purchases, AnswerOptions(excludesOldTransactions: true)) == ["150", "1"])
    }

    @Test("Without an auto-renewable subscription there are latest keys only for purchases and a correct password")
    func withoutAutoRenewable() throws {
        let purchases = [lifetime(), lifetime("2", type: .consumable)]
        for (listed, latest, isPresent) in [
            (purchases, AnswerOptions.Latest.ofPurchases, true), (purchases, .ofSubscriptions, false),
            (purchases, .omitted, false), ([], .ofPurchases, false),
        ] {
            let json = answer(.app(appReceipt(purchases: listed)), options: AnswerOptions(latest: latest))
            #expect(json.contains(#""latest_receipt":"MIIsubmitted==""#) == isPresent)
            let ids = try values(of: "transaction_id", in: "latest_receipt_info", of: json)
            #expect(ids == (isPresent ? ["500000000000001", "2"] : []))
            #expect(!json.contains("pending_renewal_info"))
        }
        let json = answer(.app(appReceipt(purchases: [month("1")])), options: AnswerOptions(latest: .omitted))
        #expect(!json.contains("latest_receipt"))
    }
}
