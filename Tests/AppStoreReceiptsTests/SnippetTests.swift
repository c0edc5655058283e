import AppStoreReceipts
import AppStoreReceiptsTesting
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// The snippets of the library's articles, as functions. A test compares their lines.
private enum Snippets {
    static func fiveLines(_ encodedReceipt: String) throws {
        let verifier = try SignedDataVerifier(bundleId: "com.example.app")
        let receipt = try verifier.verifyAndDecodeReceipt(encodedReceipt: encodedReceipt)
        for purchase in receipt.purchases {
            print(purchase.productId ?? "", purchase.originalTransactionId ?? "")
        }
    }

    static func refusals(_ encodedReceipt: String, _ verifier: SignedDataVerifier, log: (String) -> Void) -> [String] {
        do throws(VerificationError) {
            return try verifier.verifyAndDecodeReceipt(encodedReceipt: encodedReceipt).originalTransactionIds
        } catch {
            switch error.verdict {
            case .forged, .misplaced: log("refused: \(error.code)")
            case .notOfThisKind: log("not a receipt: \(error.code)")
            case .notJudged: log("try again with another source: \(error)")
            }
            return []
        }
    }

    static func apps(_ roots: [Data]) throws -> SignedDataVerifier {
        let apps: [SignedDataVerifier.App] = [
            .init(bundleId: "com.example.app"), .init(bundleId: "com.example.other", appAppleId: 1_234_567_891),
        ]
        let verifier = try SignedDataVerifier(apps: apps, rootCertificates: roots)
        return verifier
    }

    static func testStore() throws {
        let store = try TestAppStore()
        let verifier = try SignedDataVerifier(
            bundleId: "com.example.app", rootCertificates: store.rootCertificates,
            intermediateCertificates: store.intermediateCertificates)
        let encodedReceipt = try store.appReceipt(
            bundleId: "com.example.app",
            purchases: [
                .init(productId: "pro", transactionId: "1", purchaseDate: .now, expiresDate: .now + 86_400)
            ])
        let receipt = try verifier.verifyAndDecodeReceipt(encodedReceipt: encodedReceipt)
        #expect(receipt.transactionIds == ["1"])
    }

    static func answer(
        _ receipt: Receipt, _ signedTransactions: [String], _ verifier: SignedDataVerifier
    ) throws -> VerifyReceiptResponse {
        let transactions = try signedTransactions.map { jws in
            try verifier.verifyAndDecodeTransaction(signedTransaction: jws)
        }
        let records = CustomerRecords(transactions: transactions, subscriptions: [])
        let response = receipt.verifyReceiptResponse(requestDate: .now, records: records)
        return response
    }

    static func notification(
        _ signedPayload: String, _ verifier: SignedDataVerifier, revoke: (String?) -> Void
    ) throws {
        let notification = try verifier.verifyAndDecodeNotification(signedPayload: signedPayload)
        if notification.notificationType == .refund, let transaction = notification.transaction {
            revoke(transaction.transactionId)
        }
    }
}

@Suite("The library: snippets of the documents")
struct SnippetTests {
    @Test("Every snippet of the articles is in this file or in the example, and runs")
    func compared() throws {
        func lines(_ text: some StringProtocol) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let compiled = try [
            #filePath, Repository.folder.appending(path: "docs/examples/receipt-route/Package.swift").path,
        ].map {
            try "\n" + lines(String(contentsOfFile: $0, encoding: .utf8)).joined(separator: "\n") + "\n"
        }
        let catalog = Repository.folder.appending(path: "Sources/AppStoreReceipts/AppStoreReceipts.docc")
        var count = 0
        for article in try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil) {
            let blocks = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```swift\n")
                .dropFirst()
            for block in blocks {
                let snippet = lines(block.prefix(upTo: block.firstRange(of: "```")?.lowerBound ?? block.endIndex))
                #expect(compiled.contains { $0.contains("\n" + snippet.joined(separator: "\n") + "\n") }, "\(snippet)")
                count += 1
            }
        }
        #expect(count == 8)
    }

    @Test("The five lines accept what Apple signed, and nothing else")
    func fiveLines() throws {
        let forged = try SampleReceipt.named("app-receipt-active").text
        #expect(throws: VerificationError.self) { try Snippets.fiveLines(forged) }
    }

    @Test("A refusal has its own error, and an authentic receipt returns its ids")
    func refusals() throws {
        let verifier = try Verifier.ofSamples()
        var log: [String] = []
        let ids = Snippets.refusals(try SampleReceipt.named("app-receipt-active").text, verifier) { log.append($0) }
        #expect(!ids.isEmpty && log.isEmpty)
        #expect(Snippets.refusals(try SampleReceipt.named("tampered").text, verifier) { log.append($0) }.isEmpty)
        #expect(Snippets.refusals("MIIT", verifier) { log.append($0) }.isEmpty)
        #expect(log == ["refused: badSignature", "not a receipt: truncated"])
    }

    @Test("Receipts of several apps and of both environments are accepted by one verifier")
    func apps() throws {
        let verifier = try Snippets.apps(Verifier.store.get().rootCertificates)
        for (bundleId, isSandbox, id, accepted) in [
            ("com.example.app", true, Int64(5), true), ("com.example.other", false, 1_234_567_891, true),
            ("com.example.other", false, 5, false), ("com.example.third", false, 5, false),
        ] {
            let text = try Verifier.store.get().appReceipt(
                bundleId: bundleId, appAppleId: id, isSandbox: isSandbox, purchases: [])
            let found = try? verifier.verifyAndDecodeReceipt(encodedReceipt: text).bundleId
            #expect(found == (accepted ? bundleId : nil))
        }
    }

    @Test("A receipt that a test has signed is authentic to its verifier")
    func testStore() throws { try Snippets.testStore() }

    @Test("Records are added to the response, and a refund is revoked")
    func records() throws {
        let receipt = try Verifier.ofSamples().verifyAndDecodeReceipt(
            encodedReceipt: SampleReceipt.named("app-receipt-active").text)
        let verifier = try Verifier.ofJWS()
        let response = try Snippets.answer(receipt, [Verifier.transaction()], verifier)
        #expect(response.status == 0 && String(decoding: response.body, as: UTF8.self).contains("700000000000102"))
        let refund = try Verifier.jws([
            .init("notificationType", .string("REFUND")), .init("notificationUUID", .string("u-2")),
            .init("signedDate", .number(1_795_262_400_000)),
            .init(
                "data",
                JSONValue([
                    "bundleId": "com.example.app", "environment": "Production",
                    "signedTransactionInfo": try Verifier.transaction(),
                ])),
        ])
        var revoked: [String?] = []
        try Snippets.notification(refund, verifier) { revoked.append($0) }
        #expect(revoked == ["700000000000102"])
    }
}
