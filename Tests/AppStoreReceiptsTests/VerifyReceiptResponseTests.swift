import AppStoreReceipts
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The library: verifyReceipt responses")
struct VerifyReceiptResponseTests {
    private func object(_ response: VerifyReceiptResponse) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: response.body) as? [String: Any])
    }

    private func records(of original: String, status: Status?) throws -> CustomerRecords {
        let verifier = try Verifier.ofJWS()
        let transaction = try verifier.verifyAndDecodeTransaction(
            signedTransaction: Verifier.transaction(["originalTransactionId": original]))
        let renewal = try verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo: Verifier.renewal())
        let item = status.map {
            LastTransactionsItem(
                originalTransactionId: original, status: $0, transaction: transaction, renewalInfo: renewal)
        }
        return CustomerRecords(transactions: [transaction], subscriptions: item.map { [$0] } ?? [])
    }

    @Test("Records of the Server API add what happened since the receipt")
    func appReceipt() throws {
        let receipt = try Verifier.ofSamples().verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("app-receipt-active").text)
        let records = try records(of: "700000000000101", status: .active)
        let response = try object(receipt.verifyReceiptResponse(requestDate: Verifier.noon, records: records))
        let latest = try #require(response["latest_receipt_info"] as? [[String: Any]])
        #expect(latest.map { $0["transaction_id"] as? String } == ["700000000000102"])
        #expect(latest.first?["purchase_date_ms"] as? String == "1795262400000")
        let renewals = try #require(response["pending_renewal_info"] as? [[String: Any]])
        #expect(renewals.first?["auto_renew_status"] as? String == "1")
        #expect(try response["latest_receipt"] as? String == SampleReceipt.named("app-receipt-active").text)
        let omitted = try object(
            receipt.verifyReceiptResponse(requestDate: Verifier.noon, records: records, latest: .omitted))
        #expect(omitted["latest_receipt_info"] == nil && omitted["status"] as? Int == 0)
    }

    @Test(
        "The status of a transactionReceipt depends on the state of its subscription",
        arguments: [(Status.active, 0), (.billingGracePeriod, 0), (.expired, 21006), (.revoked, 21006), (nil, 21005)])
    func transactionReceipt(status: Status?, expected: Int) throws {
        let receipt = try Verifier.ofSamples().verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("ios6-v3-active").text)
        let records = try records(of: #require(receipt.originalTransactionIds.first), status: status)
        let response = receipt.verifyReceiptResponse(requestDate: Verifier.noon, records: records)
        #expect(try response.status == expected && object(response)["status"] as? Int == expected)
    }

    @Test(
        "A free trial has the flags of its purchase date, also after a conversion of decoded data",
        arguments: [
            // 2024-08-17 and 2024-09-03
            (1_723_852_800_000, "false"), (1_725_321_600_000, "true"),
        ] as [(Int64, String)])
    func trials(purchased: Int64, introductory: String) throws {
        let transaction = try Verifier.ofJWS().verifyAndDecodeTransaction(
            signedTransaction: Verifier.transaction([
                "purchaseDate": purchased, "offerType": 1, "offerDiscountType": "FREE_TRIAL",
            ]))
        let receipt = try Verifier.ofSamples().verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("app-receipt-active").text)
        let response = receipt.verifyReceiptResponse(
            requestDate: Verifier.noon, records: CustomerRecords(transactions: [transaction], subscriptions: []))
        let document = """
            {"environment":"Production","transactions":[{"transactionId":"1","purchaseDate":\(purchased),\
            "expiresDate":1797854400000,"offerType":1,"offerDiscountType":"FREE_TRIAL"}]}
            """
        let converted = try VerifyReceiptResponse.snakeCase(Data(document.utf8))
        let again = try VerifyReceiptResponse.snakeCase(VerifyReceiptResponse.camelCase(converted))
        for body in [response.body, converted, again] {
            let answer = try #require(JSONSerialization.jsonObject(with: body) as? [String: Any])
            let row = try #require((answer["latest_receipt_info"] as? [[String: Any]])?.first)
            #expect(row["is_trial_period"] as? String == "true")
            #expect(row["is_in_intro_offer_period"] as? String == introductory)
        }
    }

    @Test("No date of the caller traps", arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0])
    func dates(seconds: Double) throws {
        let receipt = try Verifier.ofSamples().verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("ios6-v3-active").text)
        let response = receipt.verifyReceiptResponse(requestDate: Date(timeIntervalSince1970: seconds))
        #expect([0, 21006].contains(response.status))
    }

    @Test("A response is converted to camelCase and back, and a document that cannot be is refused")
    func conversion() throws {
        let answer = Data(try SampleReceipt.named("app-receipt-active").bytes(of: "answer.json"))
        let camel = try VerifyReceiptResponse.camelCase(answer)
        #expect(try #require(JSONSerialization.jsonObject(with: camel) as? [String: Any])["transactions"] != nil)
        let back = try JSONSerialization.jsonObject(with: VerifyReceiptResponse.snakeCase(camel)) as? NSDictionary
        #expect(try back == JSONSerialization.jsonObject(with: answer) as? NSDictionary)
        func code(_ body: () throws(ConversionError) -> Data) -> ConversionError.Code? {
            do throws(ConversionError) {
                _ = try body()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(
            code { () throws(ConversionError) in try VerifyReceiptResponse.camelCase(Data("[".utf8)) } == .malformed)
        #expect(code { () throws(ConversionError) in try VerifyReceiptResponse.camelCase(camel) } == .wrongDirection)
        #expect(code { () throws(ConversionError) in try VerifyReceiptResponse.snakeCase(answer) } == .wrongDirection)
    }
}
