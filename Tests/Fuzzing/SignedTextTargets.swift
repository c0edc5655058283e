import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeCore

/// Fuzzes what the App Store signs: the compact JWS, and its claims.
enum SignedTextTargets {
    private static let verifier = SignedPayloadVerifier(trust: FuzzTrust.seeds)
    private static let stranger = SignedPayloadVerifier(trust: FuzzTrust.apple)

    private static let signed = Set(
        FuzzTrust.contents(of: "jws").map { bytes in
            let inspection = inspected(bytes, by: verifier)
            require(inspection.failure == nil, "a seed is authentic")
            return inspection.claims
        })

    static func text(_ bytes: [UInt8]) {
        let inspection = inspected(bytes, by: verifier)
        _ = Signed<TransactionPayload>(storedText: String(decoding: bytes, as: UTF8.self))
        guard inspection.failure == nil else { return }
        require(signed.contains(inspection.claims), "authentic claims are those of a seed")
        require(inspected(bytes, by: stranger).failure != nil, "no text is authentic below other roots")
    }

    private static func inspected(_ bytes: [UInt8], by verifier: SignedPayloadVerifier) -> JWSInspection {
        JWSInspection(String(decoding: bytes, as: UTF8.self), verifier: verifier, now: Rendered.now)
    }

    private static let views = CustomerViewRenderer(tables: .bundled)
    private static let answers = VerifyReceiptRenderer(tables: .bundled)

    /// Fuzzes claims as if their signature were valid: they are read and written in every format.
    static func claims(_ bytes: [UInt8]) {
        guard String(validating: bytes, as: UTF8.self) != nil, let object = try? JSONObject(bytes) else { return }
        _ = try? NotificationPayload(object)
        _ = try? AppTransactionPayload(object)
        let transaction = (try? TransactionPayload(object)).map { Signed(payload: $0, text: "eyJh.eyJi.c2ln") }
        let renewal = (try? RenewalPayload(object)).map { Signed(payload: $0, text: "eyJh.eyJi.c2ln") }
        let records = CustomerRecords(
            environment: .production, bundleId: "com.example.app", appAppleId: 1,
            transactions: transaction.map { [$0] } ?? [],
            subscriptions: [
                SubscriptionRecord(
                    subscriptionGroupIdentifier: "1", originalTransactionId: "1", status: 1, transaction: transaction,
                    renewal: renewal)
            ],
            revision: "1")
        if let app = BundleIdentifier(rawValue: "com.example.app") {
            Rendered.isJSON(
                views.render(
                    CustomerView(bundleId: app, records: records, configuredAppAppleId: 1, verifiedAt: Rendered.now)))
        }
        let info = TransactionReceipt(purchaseInfo: [
            .init(key: "transaction-id", value: "1"), .init(key: "original-transaction-id", value: "1"),
        ])
        for contents in [ReceiptContents.app(AppReceipt()), .transaction(info)] {
            let history = PurchaseHistory(
                receipt: contents, environment: .production, submittedText: Redacted([]), records: records)
            Rendered.isJSON(answers.answer(history: history, requestDate: Rendered.now).body)
        }
    }
}
