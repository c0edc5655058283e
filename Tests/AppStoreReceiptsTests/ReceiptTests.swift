import AppStoreReceipts
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("The library: receipts")
struct ReceiptTests {
    @Test(
        "Every sample is decoded and answered as by the server, or refused with its status",
        arguments: SampleReceipts.all)
    func samples(sample: SampleReceipt) throws {
        let answer = try #require(
            JSONSerialization.jsonObject(with: Data(sample.bytes(of: "answer.json"))) as? [String: Any])
        let environment = (answer["environment"] as? String).flatMap(AppStoreEnvironment.init) ?? .production
        let verifier = try Verifier.ofSamples(environment)
        let response: VerifyReceiptResponse
        do {
            let receipt = try verifier.verifyAndDecodeReceipt(encodedReceipt: try sample.text)
            #expect(receipt.environment == environment && receipt.bundleId == "com.example.app")
            #expect(try receipt.encodedReceipt == sample.text)
            #expect(Set(receipt.purchases.compactMap(\.originalTransactionId)) == Set(receipt.originalTransactionIds))
            response = receipt.verifyReceiptResponse(requestDate: Verifier.noon)
        } catch let error as VerificationError {
            #expect(error.verdict == .forged)
            #expect(error.code == (sample.description == "tampered" ? .badSignature : .untrustedChain))
            response = error.verifyReceiptResponse
        }
        #expect(try response.body + [0x0A] == Data(sample.bytes(of: "answer.json")))
    }

    @Test("A purchase has its values, of both formats")
    func purchases() throws {
        let verifier = try Verifier.ofSamples()
        let receipt = try verifier.verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("app-receipt-active").text)
        #expect(receipt.format == .appReceipt && receipt.receiptType == "Production")
        let answer = try #require(
            JSONSerialization.jsonObject(
                with: Data(SampleReceipt.named("app-receipt-active").bytes(of: "answer.json")))
                as? [String: Any])
        let rows = try #require((answer["receipt"] as? [String: Any])?["in_app"] as? [[String: String]])
        #expect(receipt.purchases.count == rows.count && !rows.isEmpty)
        for (purchase, row) in zip(receipt.purchases, rows) {
            func milliseconds(_ date: Date?) -> String? {
                date.map { String(Int64(($0.timeIntervalSince1970 * 1000).rounded())) }
            }
            #expect(purchase.transactionId == row["transaction_id"] && purchase.productId == row["product_id"])
            #expect(milliseconds(purchase.purchaseDate) == row["purchase_date_ms"])
            #expect(milliseconds(purchase.originalPurchaseDate) == row["original_purchase_date_ms"])
            #expect(milliseconds(purchase.expiresDate) == row["expires_date_ms"])
            #expect(purchase.webOrderLineItemId == row["web_order_line_item_id"])
            #expect(purchase.isTrialPeriod.map { "\($0)" } == row["is_trial_period"])
            #expect(purchase.isInIntroOfferPeriod.map { "\($0)" } == row["is_in_intro_offer_period"])
            #expect(purchase.inAppOwnershipType?.rawValue == row["in_app_ownership_type"])
            #expect(purchase.type == (purchase.expiresDate == nil ? .nonConsumable : .autoRenewableSubscription))
        }
        let old = try verifier.verifyAndDecodeReceipt(encodedReceipt: SampleReceipt.named("ios6-v3-active").text)
        let entry = try #require(old.purchases.first)
        #expect(old.format == .transactionReceipt && old.purchases.count == 1 && old.receiptCreationDate == nil)
        #expect(entry.originalTransactionId == old.originalTransactionIds.first && entry.quantity == 1)
        #expect(entry.type == .autoRenewableSubscription)
        #expect(try #require(entry.expiresDate) > #require(entry.purchaseDate))
        #expect("\(old)" == "transactionReceipt, purchases: 1" && !"\(old)".contains(entry.productId ?? ""))
    }

    @Test("A receipt of another app or environment is refused, with the status of verifyReceipt")
    func misplaced() throws {
        func refused(_ name: String, _ verifier: SignedDataVerifier) throws -> VerificationError? {
            let text = try SampleReceipt.named(name).text
            return refusal { () throws(VerificationError) in try verifier.verifyAndDecodeReceipt(encodedReceipt: text) }
        }
        let sandbox = try refused("app-receipt-sandbox", Verifier.ofSamples())
        #expect(sandbox?.code == .wrongEnvironment && sandbox?.verifyReceiptStatus == 21007)
        let production = try refused("ios6-v3-active", Verifier.ofSamples(.sandbox))
        #expect(production?.code == .wrongEnvironment && production?.verifyReceiptStatus == 21008)
        let other = try refused("app-receipt-active", Verifier.ofSamples(bundleId: "com.example.other"))
        #expect(other?.code == .wrongBundleId && other?.verdict == .misplaced && other?.verifyReceiptStatus == 21003)
        let app = try refused("app-receipt-active", Verifier.ofSamples(appAppleId: 1))
        #expect(app?.code == .wrongAppAppleId && app?.verifyReceiptStatus == 21003)
    }

    @Test("Repairs are applied if they are asked for")
    func profiles() throws {
        let verifier = try Verifier.ofSamples()
        let text = try SampleReceipt.named("app-receipt-active").text
        let urlSafe = text.replacing("+", with: "-").replacing("/", with: "_")
        let stored = #"{"customer": 7, "receipt": "\#(text)"}"#
        for (mangled, profile) in [(urlSafe, ReceiptProfile.tolerant), (stored, .stored)] {
            let error = refusal { () throws(VerificationError) in
                try verifier.verifyAndDecodeReceipt(encodedReceipt: mangled)
            }
            #expect(error?.verifyReceiptStatus == 21002)
            #expect(
                try verifier.verifyAndDecodeReceipt(encodedReceipt: mangled, profile: profile).encodedReceipt == text)
        }
    }

    @Test("Damaged and cut receipts are refused or unchanged in what is signed, and never trap")
    func hostile() throws {
        let verifier = try Verifier.ofSamples()
        for name in ["app-receipt-consumable", "ios6-v2-consumable"] {
            let text = Array(try SampleReceipt.named(name).text.utf8)
            let purchases = try verifier.verifyAndDecodeReceipt(encodedReceipt: SampleReceipt.named(name).text)
                .purchases
            let step = text.count / TestSize.pick(debug: 60, release: 600) + 1
            for (position, profile) in stride(from: 0, to: text.count, by: step).flatMap({
                [($0, ReceiptProfile.apple), ($0, .stored)]
            }) {
                var changed = text
                changed[position] ^= 1
                for (bytes, isCut) in [(changed, false), (Array(text.prefix(position)), true)] {
                    // A change of a certificate that is known anyway, or of an unsigned member, makes no difference.
                    let receipt = try? verifier.verifyAndDecodeReceipt(
                        encodedReceipt: String(decoding: bytes, as: UTF8.self), profile: profile)
                    #expect(receipt == nil || !isCut && receipt?.purchases == purchases, "\(name) \(position)")
                }
            }
        }
    }

    @Test(
        "Apple's roots are built in: every genuine receipt is decoded",
        arguments: GenuineReceipt.all.filter { $0.verified && $0.environment != "Xcode" })
    func genuine(expected: GenuineReceipt) throws {
        let environment = try #require(AppStoreEnvironment(rawValue: expected.environment))
        let verifier = try SignedDataVerifier(bundleId: expected.bundleId, environment: environment)
        let text = String(decoding: try expected.bytes, as: UTF8.self)
        let receipt = try verifier.verifyAndDecodeReceipt(encodedReceipt: text, profile: .tolerant)
        #expect(receipt.originalTransactionIds == expected.originalTransactionIds.sorted())
        #expect(receipt.transactionIds == expected.transactionIds.sorted())
        #expect(Set(receipt.lookupIds) == Set(expected.originalTransactionIds + expected.transactionIds))
        #expect(receipt.purchases.count == expected.transactions)
        let response = receipt.verifyReceiptResponse(requestDate: Verifier.noon)
        let object = try JSONSerialization.jsonObject(with: response.body) as? [String: Any]
        #expect(object?["status"] as? Int == response.status && [0, 21006].contains(response.status))
    }
}
