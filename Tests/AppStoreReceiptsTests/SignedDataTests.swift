import AppStoreReceipts
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The library: signed data")
struct SignedDataTests {
    @Test("A transaction has its values, also those without a name")
    func transaction() throws {
        let text = try Verifier.transaction()
        let payload = try Verifier.ofJWS().verifyAndDecodeTransaction(signedTransaction: text)
        #expect(payload.signedTransaction == text && payload.transactionId == "700000000000102")
        #expect(payload.originalTransactionId == "700000000000101" && payload.type == .autoRenewableSubscription)
        #expect(payload.purchaseDate == Verifier.noon && payload.environment == .production)
        #expect(payload.signedDate?.timeIntervalSince1970 == 1_795_262_400.123)
        #expect(payload.offerType == OfferType(rawValue: 9) && payload.price == 9_990 && payload.isUpgraded == nil)
        let claims = try JSONSerialization.jsonObject(with: payload.claims) as? [String: Any]
        #expect(claims?["productId"] as? String == payload.productId)
    }

    @Test("A notification has its parts verified, of a renewal and of an app")
    func notification() throws {
        func notification(_ data: Verifier.Claims) throws -> String {
            let app = JSONValue.members(["bundleId": "com.example.app", "environment": "Production", "appAppleId": 7])
            return try Verifier.jws([
                "notificationType": "DID_RENEW", "subtype": "BILLING_RECOVERY", "notificationUUID": "u-1",
                "signedDate": 1_795_262_400_000, "data": JSONValue.object(app + JSONValue.members(data)),
            ])
        }
        let verifier = try Verifier.ofJWS(appAppleId: 7)
        let payload = try verifier.verifyAndDecodeNotification(
            signedPayload: notification([
                "signedTransactionInfo": Verifier.transaction(), "signedRenewalInfo": Verifier.renewal(), "status": 4,
            ]))
        #expect(payload.notificationType == .didRenew && payload.subtype == .billingRecovery)
        #expect(payload.notificationUUID == "u-1" && payload.bundleId == "com.example.app" && payload.appAppleId == 7)
        #expect(payload.status == .billingGracePeriod && payload.environment == .production)
        #expect(
            payload.transaction?.productId == "com.example.app.monthly" && payload.renewalInfo?.autoRenewStatus == 1)
        let other = try Verifier.transaction(["bundleId": "com.example.other"])
        let mixed = try notification(["signedTransactionInfo": other])
        let error = refusal { () throws(VerificationError) in
            try verifier.verifyAndDecodeNotification(signedPayload: mixed)
        }
        #expect(error?.code == .wrongBundleId && error?.place == "data.signedTransactionInfo › bundleId")
    }

    @Test("A renewal and an app transaction have their values")
    func others() throws {
        let verifier = try Verifier.ofJWS(appAppleId: 7)
        let renewal = try verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo: Verifier.renewal())
        #expect(renewal.autoRenewStatus == 1 && renewal.originalTransactionId == "700000000000101")
        let text = try Verifier.jws([
            "receiptType": "Production", "bundleId": "com.example.app", "appAppleId": 7,
            "appTransactionId": "704000000000000001", "receiptCreationDate": 1_795_262_400_000,
        ])
        let download = try verifier.verifyAndDecodeAppTransaction(signedAppTransaction: text)
        #expect(download.appTransactionId == "704000000000000001" && download.receiptType == .production)
        #expect(download.receiptCreationDate == Verifier.noon)
    }

    @Test("What is not signed for this app, by Apple, or with a date is refused")
    func refused() throws {
        let verifier = try Verifier.ofJWS()
        func code(_ text: String, now: Date? = nil) -> VerificationError.Code? {
            refusal { () throws(VerificationError) in
                try verifier.verifyAndDecodeTransaction(signedTransaction: text, now: now)
            }?.code
        }
        let text = try Verifier.transaction()
        #expect(try code(Verifier.transaction(["bundleId": "com.example.other"])) == .wrongBundleId)
        #expect(try code(Verifier.transaction(["environment": "Sandbox"])) == .wrongEnvironment)
        #expect(try code(Verifier.transaction(["environment": "Xcode"])) == .xcode)
        #expect(try code(Verifier.renewal()) == .wrongKind)
        #expect(code(String(text.dropLast(4)) + "AAAA") == .badSignature)
        let undated = try Verifier.transaction(["signedDate": JSONValue.null])
        #expect(code(undated) == .outsideValidity && code(undated, now: Verifier.noon) == nil)
        #expect(code(" \n\(text)\r\n") == nil)
        // Genuine ones of 2021 name no environment.
        let old = try Verifier.transaction(["environment": JSONValue.null])
        let unjudged = refusal { () throws(VerificationError) in
            try verifier.verifyAndDecodeTransaction(signedTransaction: old)
        }
        #expect(unjudged?.code == .unexpectedType && unjudged?.verdict == .notJudged)
        #expect(unjudged?.place == "environment" && unjudged?.verifyReceiptStatus == 21005)
        let apple = try SignedDataVerifier(bundleId: "com.example.app")
        let error = refusal { () throws(VerificationError) in
            try apple.verifyAndDecodeTransaction(signedTransaction: text)
        }
        #expect(error?.code == .untrustedChain && error?.verdict == .forged && error?.verifyReceiptStatus == 21003)
    }

    @Test(
        "Apple's roots are built in: genuine payloads are verified for their time of signing",
        .enabled(if: Corpus.folder != nil, "needs the corpus of genuine receipts next to the checkout"))
    func genuine() throws {
        func text(_ name: String) throws -> String {
            let file = try #require(Corpus.files(in: "jws").first { $0.lastPathComponent == name })
            return try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let app = try SignedDataVerifier(bundleId: "Com.VoiceRecording.Telephone", environment: .sandbox)
        let transaction = try app.verifyAndDecodeTransaction(
            signedTransaction: text("apple-transaction-sandbox-20221104-3db16e.txt"))
        #expect(transaction.transactionId == "2000000191896422" && transaction.type == .autoRenewableSubscription)
        let other = try SignedDataVerifier(bundleId: "com.audaos.audarecorder", environment: .sandbox)
        let notification = try other.verifyAndDecodeNotification(
            signedPayload: text("apple-notification-didrenew-sandbox-nodate-9d61db.txt"))
        #expect(notification.notificationType == .didRenew && notification.signedDate == nil)
        #expect(notification.renewalInfo?.autoRenewStatus == 1 && notification.transaction?.environment == .sandbox)
    }

    @Test("Damaged texts are refused and never trap, and neither do damaged roots")
    func hostile() throws {
        let verifier = try Verifier.ofJWS()
        let text = Array(try Verifier.transaction().utf8)
        for position in stride(from: 0, to: text.count, by: text.count / 80 + 1) {
            var changed = text
            changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            for bytes in [changed, Array(text.prefix(position)), Array(text.dropFirst(position + 1))] {
                let hostile = String(decoding: bytes, as: UTF8.self)
                #expect(
                    refusal { () throws(VerificationError) in
                        try verifier.verifyAndDecodeTransaction(signedTransaction: hostile)
                    } != nil)
                #expect(
                    refusal { () throws(VerificationError) in
                        try verifier.verifyAndDecodeNotification(signedPayload: hostile)
                    } != nil)
            }
        }
        for root in [Data(), Data([0x30]), Data(count: 20_000)] {
            let error = refusal { () throws(VerificationError) in
                try SignedDataVerifier(bundleId: "com.example.app", rootCertificates: [root])
            }
            #expect(error?.code == .malformedCertificate && error?.verdict == .notJudged)
        }
    }
}
