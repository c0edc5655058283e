import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Signed payloads from the App Store")
struct SignedPayloadCorpusTests {
    private static let verifier = Result { SignedPayloadVerifier(trust: try TrustStore(anchors: .apple())) }
    /// A time at which no chain of the corpus is valid, so that only a payload's own date can make it valid.
    private static let now = Timestamp(seconds: 4_102_444_800)

    private static func files(_ isGenuine: Bool) -> [String] {
        Corpus.files(in: "jws").map(\.lastPathComponent).filter {
            isGenuine == !($0.contains("BAD") || $0.contains("xcode") || $0.contains("applelib-mock"))
        }
    }

    private static func text(_ name: String) throws -> String {
        let file = try #require(Corpus.folder).appending(path: "jws").appending(path: name)
        return try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func verify(_ name: String) throws -> [UInt8] {
        let (verifier, text) = (try verifier.get(), try text(name))
        if name.contains("-notification") {
            return try verifier.verifyNotification(text, now: now).notification.payload.claims
        }
        if name.contains("-renewalinfo") {
            return try verifier.verify(text, as: RenewalPayload.self, now: now).payload.claims
        }
        return try verifier.verify(text, as: TransactionPayload.self, now: now).payload.claims
    }

    @Test("Genuine payloads are valid at their time of signing, with all their claims", arguments: files(true))
    func genuine(name: String) throws {
        let claims = try Self.verify(name)
        #expect(try JSONSerialization.jsonObject(with: Data(claims)) is [String: Any])
    }

    @Test("Changed payloads and those from Xcode or a mock are rejected", arguments: files(false))
    func others(name: String) throws {
        let error = #expect(throws: SignedPayloadError.self) { try Self.verify(name) }
        let expected: [SignedPayloadError.Code] =
            name.contains("BAD-apple-")
            ? [.badSignature] : name.contains("xcode") ? [.xcode] : [.x5c, .untrustedChain, .notAReceiptSigner]
        #expect(expected.contains(try #require(error).code), "\(String(describing: error))")
    }

    @Test(
        "Every field of a genuine transaction is read",
        .enabled(if: Corpus.folder != nil, "needs the corpus of genuine receipts next to the checkout"))
    func fields() throws {
        let text = try Self.text("apple-transaction-sandbox-20221104-3db16e.txt")
        let signed: Signed<TransactionPayload> = try Self.verifier.get().verify(text, now: Self.now)
        var expected = TransactionPayload()
        expected.transactionId = "2000000191896422"
        expected.originalTransactionId = "2000000184445477"
        expected.webOrderLineItemId = "2000000014019133"
        expected.bundleId = "Com.VoiceRecording.Telephone"
        expected.productId = "Com.VoiceRecording.Telephone.103"
        expected.subscriptionGroupIdentifier = "21024612"
        expected.purchaseDate = Timestamp(milliseconds: 1_667_389_704_000)
        expected.originalPurchaseDate = Timestamp(milliseconds: 1_666_615_875_000)
        expected.expiresDate = Timestamp(milliseconds: 1_667_391_504_000)
        expected.quantity = 1
        expected.type = "Auto-Renewable Subscription"
        expected.appAccountToken = "e4b2c0ab-07a9-4e12-91c9-a76d7d51b72e"
        expected.inAppOwnershipType = "PURCHASED"
        expected.signedDate = Timestamp(milliseconds: 1_667_561_039_251)
        expected.environment = "Sandbox"
        expected.claims = signed.payload.claims
        #expect(signed.payload == expected)
        #expect(signed.text == text)
    }

    @Test(
        "A notification without a date, from 2022, is dated by the JWS inside it",
        .enabled(if: Corpus.folder != nil, "needs the corpus of genuine receipts next to the checkout"))
    func notification() throws {
        let text = try Self.text("apple-notification-didrenew-sandbox-nodate-9d61db.txt")
        let verified = try Self.verifier.get().verifyNotification(text, now: Self.now)
        #expect(verified.notification.payload.signedDate == nil)
        #expect(verified.notification.payload.notificationType == "DID_RENEW")
        #expect(verified.transaction?.payload.bundleId == "com.audaos.audarecorder")
        #expect(verified.renewal?.payload.autoRenewStatus == 1)
        let error = #expect(throws: SignedPayloadError.self) {
            try Self.verifier.get().verify(text, as: NotificationPayload.self, now: Self.now)
        }
        #expect(error?.code == .outsideValidity)
    }

    @Test(
        "A cached header does not skip the verification of the signature",
        .enabled(if: Corpus.folder != nil, "needs the corpus of genuine receipts next to the checkout"))
    func cached() throws {
        let text = try Self.text("apple-transaction-sandbox-20221104-3db16e.txt")
        let other = try Self.text("apple-transaction-sandbox-20220304-6600cd.txt")
        let verifier = try Self.verifier.get()
        for _ in 0..<2 { _ = try verifier.verify(text, as: TransactionPayload.self, now: Self.now) }
        let parts = text.split(separator: "."), others = other.split(separator: ".")
        let mixed = "\(parts[0]).\(others[1]).\(parts[2])"
        let error = #expect(throws: SignedPayloadError.self) {
            try verifier.verify(mixed, as: TransactionPayload.self, now: Self.now)
        }
        #expect(error?.code == .badSignature)
    }
}
