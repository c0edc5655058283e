import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeResponses
import ReceiptBridgeSimulator

/// Benchmarks of the Server API: verifying a signed transaction, signing a request, rendering a response from a
/// history.
struct ServerAPIBench {
    private let verifier: SignedPayloadVerifier
    private let signedTransaction: String
    private let account: ServerAPIAccount
    private let key: SigningKey
    private let history: PurchaseHistory
    private let renderer = VerifyReceiptRenderer(tables: .bundled)

    init(pki: TestPKI, trust: TrustStore) throws {
        verifier = SignedPayloadVerifier(trust: trust)
        signedTransaction = try pki.jwsSigner.jws(payload: Self.claims)
        key = try SigningKey.p256()
        account = ServerAPIAccount(
            issuerId: "00000000-0000-4000-8000-000000000000", keyId: "0000000000", bundleId: "com.example.app",
            privateKey: .text(Redacted(key.privateKeyPEM)))
        history = Self.history(of: 100)
    }

    /// - Parameter verification: The bare RSA verification of a receipt, which rendering is compared with.
    func run(only prefix: String, against verification: BenchmarkVerification) async throws -> [BenchRow] {
        let bare = try verifier.bareVerification(of: signedTransaction)
        let header = Array(#"{"alg":"ES256","kid":"0000000000","typ":"JWT"}"#.utf8)
        var rows: [BenchRow] = []
        func measure(_ name: String, against limit: @Sendable () -> Void, _ work: @Sendable () -> Void) async {
            guard name.hasPrefix(prefix) else { return }
            rows.append(await Stopwatch.measure(name, against: limit) { work() })
        }
        await measure("jws.verify+decode", against: { BlackHole.swallow(bare.run()) }) {
            BlackHole.swallow(
                try? verifier.verify(signedTransaction, as: TransactionPayload.self, now: Self.now).payload)
        }
        await measure("history.render", against: { BlackHole.swallow(verification.run()) }) {
            BlackHole.swallow(renderer.answer(history: history, requestDate: Self.now).body)
        }
        await measure("jwt.sign", against: { BlackHole.swallow(try? key.rawES256Signature(over: header)) }) {
            BlackHole.swallow(try? ProviderToken(account: account, key: key, now: Self.now).text)
        }
        return rows
    }

    /// A fixed time, at which the sample's subscription is active.
    private static let now = Timestamp(seconds: 1_760_000_000)

    private static let claims: JSONValue = .object([
        "transactionId": .string("2000000100000001"), "originalTransactionId": .string("2000000100000001"),
        "webOrderLineItemId": .string("2000000050000001"), "bundleId": .string("com.example.app"),
        "productId": .string("com.example.app.monthly"), "subscriptionGroupIdentifier": .string("20500001"),
        "purchaseDate": .number(1_760_000_000_000), "originalPurchaseDate": .number(1_760_000_000_000),
        "expiresDate": .number(1_762_592_000_000), "quantity": .number(1),
        "type": .string("Auto-Renewable Subscription"), "inAppOwnershipType": .string("PURCHASED"),
        "signedDate": .number(1_760_000_000_000), "environment": .string("Sandbox"),
        "transactionReason": .string("PURCHASE"), "storefront": .string("USA"), "storefrontId": .string("143441"),
        "price": .number(4990), "currency": .string("USD"), "appTransactionId": .string("704000000000000001"),
    ])

    private static func history(of count: Int) -> PurchaseHistory {
        let transactions = (0..<count).map { index in
            var payload = TransactionPayload()
            payload.transactionId = "\(2_000_000_100_000_001 + index)"
            payload.originalTransactionId = "2000000100000001"
            payload.webOrderLineItemId = "\(2_000_000_050_000_001 + index)"
            payload.productId = "com.example.app.monthly"
            payload.subscriptionGroupIdentifier = "20500001"
            payload.type = "Auto-Renewable Subscription"
            payload.inAppOwnershipType = "PURCHASED"
            payload.quantity = 1
            payload.purchaseDate = Timestamp(seconds: 1_700_000_000 + Int64(index) * 2_592_000)
            payload.originalPurchaseDate = Timestamp(seconds: 1_700_000_000)
            payload.expiresDate = Timestamp(seconds: 1_702_592_000 + Int64(index) * 2_592_000)
            return Signed(payload: payload, text: "")
        }
        var receipt = AppReceipt()
        receipt.receiptType = "ProductionSandbox"
        receipt.bundleId = "com.example.app"
        let records = CustomerRecords(
            environment: .sandbox, bundleId: "com.example.app", appAppleId: nil, transactions: transactions,
            subscriptions: [], revision: nil)
        return PurchaseHistory(
            receipt: .app(receipt), environment: .sandbox,
            submittedText: Redacted(Array(repeating: 0x41, count: 8_000)),
            records: records)
    }
}
