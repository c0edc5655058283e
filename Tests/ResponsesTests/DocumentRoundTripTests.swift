import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

private let converter = DocumentConverter(tables: .bundled)

@Suite("Conversion to camelCase and back")
struct DocumentRoundTripTests {
    @Test("A response from an App Receipt is identical, byte for byte")
    func appReceiptAnswer() throws {
        var offered = month("500000000000003", day: 30)
        offered.promotionalOfferId = "summer"
        offered.inAppOwnershipType(1)
        var trial = month("500000000000002")
        trial.isTrialPeriod = 1
        var refunded = lifetime()
        refunded.cancellationDate = summer
        refunded.cancellationReason = 1
        let answer = answer(.app(appReceipt(purchases: [refunded, trial, offered])))
        #expect(text(try converter.snakeCase(converter.camelCase(Array(answer.utf8)))) == answer)
    }

    @Test("A response from the Server API is identical, byte for byte")
    func recordsAnswer() throws {
        let answer = renderer.answer(
            history: PurchaseHistory(
                receipt: .app(appReceipt(purchases: [month("500000000000002"), lifetime()])),
                environment: .production, submittedText: Redacted(Array("MIIsubmitted==".utf8)), records: records),
            requestDate: summer
        ).body
        #expect(text(answer).contains("offer_code_ref_name") && text(answer).contains("grace_period_expires_date_ms"))
        #expect(text(try converter.snakeCase(converter.camelCase(answer))) == text(answer))
    }

    @Test("An error response from Apple and the date of a pre-order are identical")
    func rareKeys() throws {
        let failure =
            #"{"status":21104,"environment":"Production","is_retryable":true,"exception":"com.apple.jingle.Refused"}"#
        #expect(text(try converter.snakeCase(converter.camelCase(Array(failure.utf8)))) == failure)
        let refusal = #"{"status":21010,"environment":"Sandbox","is_retryable":false}"#
        #expect(text(try converter.snakeCase(converter.camelCase(Array(refusal.utf8)))) == refusal)
        let preorder =
            #""preorder_date":"2023-08-14 07:50:46 Etc/GMT","preorder_date_ms":"1691999446123","#
            + #""preorder_date_pst":"2023-08-14 00:50:46 America/Los_Angeles","#
        let plain = answer(.app(appReceipt(purchases: [month("500000000000002")])))
        let next = #""original_application_version""#
        let ordered = plain.replacing(next, with: preorder + next)
        #expect(ordered != plain)
        #expect(text(try converter.snakeCase(converter.camelCase(Array(ordered.utf8)))) == ordered)
    }

    @Test("An iOS 6 response is identical, byte for byte", arguments: [1_673_100_000, 1_999_000_000])
    func flatAnswer(now: Int64) throws {
        let receipt = purchaseInfo([
            "original-purchase-date": "2023-01-06 10:13:20 Etc/GMT", "original-purchase-date-ms": "1673000000000",
            "original-purchase-date-pst": "2023-01-06 02:13:20 America/Los_Angeles",
            "purchase-date": "2023-01-06 10:13:20 Etc/GMT", "purchase-date-ms": "1673000000000",
            "purchase-date-pst": "2023-01-06 02:13:20 America/Los_Angeles",
            "expires-date": "1675592000000", "expires-date-formatted": "2023-02-05 10:13:20 Etc/GMT",
            "expires-date-formatted-pst": "2023-02-05 02:13:20 America/Los_Angeles",
            "transaction-id": "500000000000002", "original-transaction-id": "500000000000002",
            "product-id": "com.example.reader.month", "item-id": "1500000002", "quantity": "1",
            "web-order-line-item-id": "500000000000777", "is-trial-period": "false",
            "is-in-intro-offer-period": "true", "bid": "com.example.reader", "bvrs": "42",
            "app-item-id": "1500000001", "version-external-identifier": "860000001",
            "unique-identifier": "0000b0", "unique-vendor-identifier": "A-B",
        ])
        let answer = answer(.transaction(receipt), at: Timestamp(seconds: now))
        let back = text(try converter.snakeCase(converter.camelCase(Array(answer.utf8))))
        #expect(try members(back) == members(answer))
        #expect(JSONReader.object("receipt", in: back) == JSONReader.object("receipt", in: answer))
    }

    @Test("Truncated and changed documents are converted or rejected, and never cause a trap")
    func mutations() throws {
        let answer = Array(answer(.app(appReceipt(purchases: [month("500000000000002")]))).utf8)
        let camel = try converter.camelCase(answer)
        for (document, convert) in [(answer, converter.camelCase), (camel, converter.snakeCase)] {
            for position in document.indices {
                var changed = document
                changed[position] ^= UInt8(truncatingIfNeeded: 1 << (position % 7))
                for hostile in [Array(document[..<position]), changed] {
                    do {
                        _ = try convert(hostile)
                    } catch {
                        #expect(!error.description.isEmpty)
                    }
                }
            }
        }
    }

    /// The top-level keys and the values of the latest object.
    private func members(_ json: String) throws -> [String: [String: String]] {
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        return try #require(object).mapValues { $0 as? [String: String] ?? ["": "\($0)"] }
    }

    /// A subscription in its grace period, with every kind of offer and an upgrade.
    private var records: CustomerRecords {
        let changes: [(inout TransactionPayload) -> Void] = [
            { ($0.offerType, $0.offerDiscountType) = (1, "FREE_TRIAL") },
            {
                ($0.offerType, $0.offerIdentifier) = (2, "summer")
                ($0.revocationDate, $0.revocationReason) = (summer, 0)
            },
            { ($0.offerType, $0.offerIdentifier, $0.isUpgraded) = (3, "fair", true) },
            { ($0.offerType, $0.appAccountToken) = (1, "11111111-2222-4333-8444-555555555555") },
        ]
        let transactions = changes.enumerated().map { index, change in
            transaction("50000000000000\(index + 2)") {
                $0.purchaseDate = Timestamp(milliseconds: 1_673_000_000_123)
                $0.inAppOwnershipType = "FAMILY_SHARED"
                change(&$0)
            }
        }
        let renewal = renewal {
            $0.autoRenewProductId = "com.example.reader.year"
            ($0.expirationIntent, $0.isInBillingRetryPeriod) = (2, false)
            ($0.gracePeriodExpiresDate, $0.priceIncreaseStatus) = (summer, 0)
            ($0.offerType, $0.offerIdentifier) = (3, "fair")
        }
        return ResponsesTests.records(transactions, status: 4, renewal: renewal)
    }
}

extension InAppPurchase {
    fileprivate mutating func inAppOwnershipType(_ number: Int64) { ownershipType = number }
}

@Suite(
    "Conversion of Apple's genuine responses to camelCase",
    .enabled(if: Corpus.folder != nil, "the corpus ../shared/corpus is missing"))
struct GenuineConversionTests {
    @Test(
        "The ids and dates of each row are the same after conversion to camelCase and back",
        arguments: Corpus.files(in: "responses"))
    func rows(file: URL) throws {
        guard !file.lastPathComponent.hasPrefix("v1-") else { return }
        let data = try Data(contentsOf: file)
        let answer = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let camel = try converter.camelCase([UInt8](data))
        let document = try #require(try JSONSerialization.jsonObject(with: Data(camel)) as? [String: Any])
        let back = try #require(
            try JSONSerialization.jsonObject(with: Data(try converter.snakeCase(camel))) as? [String: Any])

        for (wire, model) in [("in_app", "transactions"), ("latest_receipt_info", "latestTransactions")] {
            let rows = rows(answer, wire)
            let converted = document[model] as? [[String: Any]] ?? []
            if !rows.isEmpty { try #require(converted.count == rows.count) }
            for (row, object) in zip(rows, converted) {
                for (key, name) in [
                    ("transaction_id", "transactionId"), ("original_transaction_id", "originalTransactionId"),
                    ("product_id", "productId"), ("web_order_line_item_id", "webOrderLineItemId"),
                ] {
                    #expect(row[key] as? String == object[name] as? String, "\(key)")
                }
                for (key, name) in [
                    ("purchase_date_ms", "purchaseDate"), ("original_purchase_date_ms", "originalPurchaseDate"),
                    ("expires_date_ms", "expiresDate"),
                ] {
                    #expect((row[key] as? String).flatMap { Int($0) } == object[name] as? Int, "\(key)")
                }
            }
            #expect(self.rows(back, wire) as? [[String: String]] == rows as? [[String: String]])
        }
        if let receipt = answer["receipt"] as? [String: Any], receipt["in_app"] == nil {
            #expect(back["receipt"] as? [String: String] == receipt as? [String: String])
            // In this response the latest object was moved to a key that does not fit the status, by the author of
            // the corpus.
            guard file.lastPathComponent.hasPrefix("PAIR-") else { return }
            for key in ["latest_receipt_info", "latest_expired_receipt_info"] {
                #expect(back[key] as? [String: String] == answer[key] as? [String: String], "\(key)")
            }
        }
    }

    private func rows(_ answer: [String: Any], _ key: String) -> [[String: Any]] {
        let holder = key == "in_app" ? answer["receipt"] as? [String: Any] : answer
        return holder?[key] as? [[String: Any]] ?? []
    }
}
