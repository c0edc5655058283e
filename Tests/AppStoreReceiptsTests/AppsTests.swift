import AppStoreReceipts
import AppStoreReceiptsTesting
import Foundation
import Testing

@Suite("The library: several apps")
struct AppsTests {
    private static let first = SignedDataVerifier.App(bundleId: "com.example.app", appAppleId: 7)
    private static let second = SignedDataVerifier.App(bundleId: "com.example.other", appAppleId: 8)

    private static func verifier(
        _ apps: [SignedDataVerifier.App]?, _ environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) throws -> SignedDataVerifier {
        let store = try Verifier.store.get()
        return try SignedDataVerifier(
            apps: apps, environments: environments, rootCertificates: store.rootCertificates,
            intermediateCertificates: store.intermediateCertificates)
    }

    private static func jws(_ members: [String: Any]) throws -> String {
        try Verifier.store.get().jws(payload: JSONSerialization.data(withJSONObject: members))
    }

    private static func transaction(_ bundleId: String?, _ environment: String?) throws -> String {
        var members: [String: Any] = ["transactionId": "1", "signedDate": 1_795_262_400_000]
        members["bundleId"] = bundleId
        members["environment"] = environment
        return try jws(members)
    }

    @Test("A JWS is accepted if its app and its environment are")
    func transactions() throws {
        func code(
            _ bundleId: String?, _ environment: String?, _ apps: [SignedDataVerifier.App]?,
            _ environments: Set<AppStoreEnvironment> = [.production, .sandbox]
        ) throws -> String {
            let verifier = try Self.verifier(apps, environments)
            let text = try Self.transaction(bundleId, environment)
            return refusal { () throws(VerificationError) in
                try verifier.verifyAndDecodeTransaction(signedTransaction: text)
            }?.code.rawValue ?? "accepted"
        }
        let (app, other) = ("com.example.app", "com.example.other")
        let both = [Self.first, Self.second]
        #expect(try code(app, "Production", both) == "accepted")
        #expect(try code(other, "Sandbox", both) == "accepted")
        #expect(try code("com.example.third", "Sandbox", both) == "wrongBundleId")
        #expect(try code("com.example.third", "Sandbox", nil) == "accepted")
        #expect(try code("com.example.third", "Sandbox", []) == "wrongBundleId")
        #expect(try code(other, "Sandbox", both, [.production]) == "wrongEnvironment")
        #expect(try code(other, "Sandbox", both, []) == "wrongEnvironment")
        // About one in a million names no app, and those of 2021 name no environment.
        #expect(try code(nil, "Sandbox", both) == "wrongBundleId")
        #expect(try code(nil, "Sandbox", nil) == "accepted")
        #expect(try code(app, nil, both) == "accepted")
        #expect(try code(app, nil, both, [.sandbox]) == "unexpectedType")
    }

    @Test("The Apple ID must be that of the app, and a notification must not contain data of another accepted app")
    func mixed() throws {
        let verifier = try Self.verifier([Self.first, Self.second])
        func code(_ bundleId: String, _ appAppleId: Int, of inner: String) throws -> String {
            let text = try Self.jws([
                "notificationType": "DID_RENEW", "notificationUUID": "u-1", "signedDate": 1_795_262_400_000,
                "data": [
                    "bundleId": bundleId, "appAppleId": appAppleId, "environment": "Production",
                    "signedTransactionInfo": try Self.transaction(inner, "Production"),
                ],
            ])
            return refusal { () throws(VerificationError) in
                try verifier.verifyAndDecodeNotification(signedPayload: text)
            }?.code.rawValue ?? "accepted"
        }
        #expect(try code("com.example.app", 7, of: "com.example.app") == "accepted")
        #expect(try code("com.example.other", 8, of: "com.example.other") == "accepted")
        #expect(try code("com.example.app", 8, of: "com.example.app") == "wrongAppAppleId")
        #expect(try code("com.example.app", 7, of: "com.example.other") == "wrongBundleId")
    }

    @Test("A receipt is accepted if its app and its environment are; otherwise its status says why")
    func receipts() throws {
        let store = try Verifier.store.get()
        func status(_ verifier: SignedDataVerifier, _ bundleId: String, _ id: Int64, isSandbox: Bool) throws -> Int {
            let text = try store.appReceipt(bundleId: bundleId, appAppleId: id, isSandbox: isSandbox, purchases: [])
            return refusal { () throws(VerificationError) in
                try verifier.verifyAndDecodeReceipt(encodedReceipt: text)
            }?.verifyReceiptStatus ?? 0
        }
        let both = try Self.verifier([Self.first, Self.second])
        #expect(try status(both, "com.example.app", 7, isSandbox: false) == 0)
        #expect(try status(both, "com.example.other", 8, isSandbox: true) == 0)
        #expect(try status(both, "com.example.other", 7, isSandbox: false) == 21003)
        let sandbox = try Self.verifier(nil, [.sandbox])
        #expect(try status(sandbox, "com.example.third", 1, isSandbox: true) == 0)
        #expect(try status(sandbox, "com.example.third", 1, isSandbox: false) == 21008)
        #expect(try status(Self.verifier(nil, [.production]), "com.example.third", 1, isSandbox: true) == 21007)
    }

    @Test("Receipts and JWS for tests have what was asked for, and another store's are forged")
    func signed() throws {
        let store = try Verifier.store.get()
        let date = Verifier.noon
        let text = try store.appReceipt(
            bundleId: "com.example.app", creationDate: date,
            purchases: [
                .init(
                    productId: "pro", transactionId: "2", originalTransactionId: "1", purchaseDate: date,
                    expiresDate: date + 60, cancellationDate: date + 1),
                .init(productId: "coins", transactionId: "3", purchaseDate: date),
            ])
        let receipt = try Self.verifier(nil).verifyAndDecodeReceipt(encodedReceipt: text)
        #expect(receipt.receiptCreationDate == date && receipt.appAppleId == 1_234_567_890)
        #expect(receipt.originalTransactionIds == ["1", "3"])
        let pro = try #require(receipt.purchases.first { $0.productId == "pro" })
        #expect(pro.type == .autoRenewableSubscription && pro.expiresDate == date + 60)
        #expect(pro.cancellationDate == date + 1 && pro.cancellationReason == 0 && pro.quantity == 1)
        #expect(receipt.purchases.first { $0.productId == "coins" }?.type == .consumable)
        let old = try store.transactionReceipt(
            isSandbox: true,
            [
                "bid": "com.example.app", "product-id": "pro", "transaction-id": "2", "original-transaction-id": "1",
                "purchase-date-ms": "1795262400000", "original-purchase-date-ms": "1795262400000",
            ])
        let transaction = try Self.verifier(nil).verifyAndDecodeReceipt(encodedReceipt: old)
        #expect(transaction.format == .transactionReceipt && transaction.environment == .sandbox)
        #expect(transaction.purchases.first?.purchaseDate == date)
        let other = try Verifier.ofSamples()
        let forged = refusal { () throws(VerificationError) in
            try other.verifyAndDecodeReceipt(encodedReceipt: text)
        }
        #expect(forged?.code == .untrustedChain && forged?.verdict == .forged)
    }

    @Test("Apple's certificates are parsed and verified once in a process")
    func shared() throws {
        _ = try SignedDataVerifier(bundleId: "com.example.app")
        let start = ContinuousClock.now
        for _ in 0..<2_000 { _ = try SignedDataVerifier(bundleId: "com.example.app") }
        // Parsing them takes 1.8 ms in release, which would be 3.6 s.
        #expect(ContinuousClock.now - start < .seconds(1))
    }
}
