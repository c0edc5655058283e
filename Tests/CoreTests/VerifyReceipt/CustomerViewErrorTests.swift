import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Errors of the customer view")
struct CustomerViewErrorTests {
    /// Among them a full-width digit, 21 digits, and an id that is still percent-encoded.
    static let malformedIds = [
        "", "0", "000", "../", "..", "1/../2", "1a", " 1", "1\n", "-1", "１", "123456789012345678901", "%30",
    ]

    @Test("A malformed transaction id is rejected without a call to the App Store", arguments: malformedIds)
    func malformedId(id: String) async throws {
        try await CustomerViews.serving(customers: 1) { views in
            #expect(await views.failure { try await $0.ask(id: id) } == "400 malformedTransactionId")
            #expect(views.store.requests.total == 0)
        }
    }

    static let malformedBodies = [
        "", "[]", "{}", "x", #"{"receiptData":5}"#, #"{"receiptData":""}"#, #"{"receiptData":null}"#,
        #"{"signedTransaction":["a"]}"#, #"{"receiptData":"AAAA","signedTransaction":"a.b.c"}"#,
        #"{"receipt-data":"AAAA"}"#, #"{"receiptData":"AAAA"} x"#,
        #"{"signedAppTransaction":""}"#, #"{"signedRenewalInfo":7}"#, #"{"signedRenewalInfo":"a","bundleId":7}"#,
        #"{"signedAppTransaction":"a.b.c","signedRenewalInfo":"a.b.c"}"#, #"{"bundleId":"com.example.app"}"#,
    ]

    @Test("A body without exactly one of the four keys is a malformed request", arguments: malformedBodies)
    func malformedBody(body: String) async throws {
        try await CustomerViews.serving(customers: 1) { views in
            #expect(
                await views.failure { try await $0.pipeline.view(body: Array(body.utf8)) } == "400 malformedRequest")
        }
    }

    @Test("An unknown bundle id is rejected, and an unknown id if no app knows it")
    func apps() async throws {
        let second = AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.example.second"))
        try await CustomerViews.serving(customers: 1, { settings, _ in settings.apps.append(second) }) { views in
            #expect(await views.failure { try await $0.ask(id: "1") } == "404 transactionNotFound")
            #expect(await views.failure { try await $0.ask(id: "1", bundleId: "com.example.x") } == "404 unknownApp")
            #expect(await views.failure { try await $0.ask(id: "1", bundleId: "") } == "404 unknownApp")
            #expect(
                await views.failure { try await $0.ask(id: "1", bundleId: "com.example.second") }
                    == "404 serverAPINotConfigured")
            #expect(
                await views.failure { try await $0.ask(id: "1", bundleId: SimulatedApp.first.bundleId) }
                    == "404 transactionNotFound")
        }
    }

    @Test("A signed transaction is rejected if it is of another app, tampered with, foreign or malformed")
    func signedTransactions() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            let transaction = try #require(try views.store.customer(.activeSubscription).transactions.first)
            let good = try views.signed(transaction)
            let other = try views.signed(transaction, bundleId: "com.example.other")
            let parts = good.split(separator: ".").map(String.init)
            let payload = other.split(separator: ".")[1]
            let foreign = try SharedSimulator.foreign.jwsSigner.jws(
                payload: transaction.row(.production, signedDate: SharedSimulator.noon))
            let renewal = try views.store.pki.jwsSigner.jws(
                payload: .object(["originalTransactionId": .string("1"), "environment": .string("Production")]))
            for (text, expected) in [
                (other, "404 unknownApp"), ("\(parts[0]).\(payload).\(parts[2])", "422 notAuthentic"),
                (foreign, "422 notAuthentic"), (renewal, "400 notASignedTransaction"),
                ("\(parts[0]).\(parts[1])", "400 notASignedTransaction"), ("x", "400 notASignedTransaction"),
            ] {
                #expect(await views.failure { try await $0.ask(signedTransaction: text) } == expected)
            }
            #expect(views.store.requests.total == 0)
        }
    }

    @Test("A signed text of another kind is named for what it is, and one that is not judged is not called forged")
    func kinds() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            func sign(_ claims: KeyValuePairs<String, JSONValue?>) throws -> String {
                try views.store.pki.jwsSigner.jws(payload: .object(claims))
            }
            let texts = [
                ("signedTransaction", "a transaction", try sign(["transactionId": .string("1")])),
                ("signedAppTransaction", "an app transaction", try sign(["receiptType": .string("Production")])),
                ("signedRenewalInfo", "a renewal", try views.signed(renewalOf: "1")),
                ("", "a notification", try sign(["notificationType": .string("TEST")])),
            ]
            for (key, expected, _) in texts.dropLast() {
                for (_, found, text) in texts where found != expected {
                    let body = views.body(key, text)
                    let error = await #expect(throws: OperationError.self) {
                        try await views.pipeline.view(body: body)
                    }
                    let name = found.split(separator: " ", maxSplits: 1)[1]
                    #expect(error?.description == "notASignedTransaction: a signed \(name), not \(expected)")
                }
            }
            let odd = try sign(["transactionId": .string("1"), "purchaseDate": .string("x")])
            #expect(await views.failure { try await $0.ask(signedTransaction: odd) } == "503 unexpectedType")
            let new = odd.withAlgorithm("ES384")
            #expect(await views.failure { try await $0.ask(signedTransaction: new) } == "503 notVerifiable")
            let unsigned = odd.withAlgorithm("none")
            #expect(await views.failure { try await $0.ask(signedTransaction: unsigned) } == "422 notAuthentic")
            #expect(views.store.requests.total == 0)
        }
    }

    @Test("A forged receipt is rejected, and a mangled one is repaired although verifyReceipt rejects it")
    func hostileReceipts() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            for hostile in try SharedSimulator.hostile {
                let failure = await views.failure { try await $0.ask(receipt: hostile.text) }
                let isRejected = ["400 notAReceipt", "422 notAuthentic"].contains(failure)
                #expect(isRejected == (hostile.expected == .refused), "\(hostile.mangling): \(failure ?? "")")
            }
            #expect(await views.failure { try await $0.ask(receipt: "AAAA") } == "400 notAReceipt")
        }
    }

    @Test("A receipt of an unknown app is rejected with unknownApps: refuse, and answers for itself with pass")
    func unknownApps() async throws {
        for choice in ProxyConfiguration.UnknownApps.allCases {
            try await CustomerViews.serving(
                customers: 1,
                { settings, app in
                    settings.unknownApps = choice
                    app.bundleId = BundleIdentifier(rawValue: "com.example.second")
                }
            ) { views in
                let receipt = try #require(views.store.receipts.first)
                switch choice {
                case .refuse:
                    #expect(await views.failure { try await $0.ask(receipt: receipt.base64) } == "404 unknownApp")
                case .pass:
                    let view = try await views.ask(receipt: receipt.base64)
                    #expect(view["source"]?.text == "receipt")
                    #expect(view["bundleId"]?.text == SimulatedApp.first.bundleId)
                }
                #expect(views.store.requests.total == 0)
            }
        }
    }

    @Test("Sandbox purchases are rejected if the app denies the sandbox")
    func sandboxDenied() async throws {
        try await CustomerViews.serving(customers: 4, { _, app in app.sandbox = .deny }) { views in
            let customer = try views.store.customer(.activeSubscription, .sandbox)
            let receipt = try #require(views.store.receipts(of: customer).first)
            let id = try #require(customer.transactions.first?.transactionId)
            #expect(await views.failure { try await $0.ask(receipt: receipt.base64) } == "422 sandboxDenied")
            #expect(await views.failure { try await $0.ask(id: id) } == "404 transactionNotFound")
        }
    }

    @Test("A fault of the App Store is a 502 if a retry will not help, and a 503 if it may")
    func upstream() async throws {
        let faults: [(SimulatedFault.Kind, String)] = [
            (.serverAPI(.badSignature), "502 upstreamFailed"), (.serverAPI(.emptyHistory), "502 upstreamFailed"),
            (.serverAPI(.wrongBundle), "502 upstreamFailed"), (.status(401), "502 upstreamFailed"),
            (.status(503), "503 upstreamUnavailable"), (.html, "503 upstreamUnavailable"),
            (.serverAPI(.failure(code: 5_000_001, retryAfter: nil)), "503 upstreamUnavailable"),
            (.serverAPI(.failure(code: 4_040_001, retryAfter: nil)), "404 accountNotFound"),
            (.serverAPI(.failure(code: 4_000_006, retryAfter: nil)), "404 transactionNotFound"),
        ]
        try await CustomerViews.serving(customers: 1) { views in
            let id = try #require(try views.store.customer(.activeSubscription).transactions.first?.transactionId)
            for (kind, expected) in faults {
                views.store.faults.removeAll()
                views.store.faults.add(SimulatedFault(kind, endpoint: "serverAPI"))
                let failure = await views.failure { try await $0.ask(id: id) }
                #expect(failure == expected, "\(kind)")
            }
        }
    }

    @Test("The error repeats the App Store's Retry-After")
    func retryAfter() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            let id = try #require(try views.store.customer(.activeSubscription).transactions.first?.transactionId)
            let instant = SharedSimulator.noon.advanced(by: .milliseconds(90_500)).milliseconds
            views.store.faults.add(
                SimulatedFault(.serverAPI(.failure(code: 4_290_000, retryAfter: "\(instant)")), endpoint: "serverAPI"))
            do throws(OperationError) {
                _ = try await views.pipeline.view(transactionId: id, bundleId: nil)
                Issue.record("got a view despite the fault")
            } catch {
                #expect(error.code.httpStatus == 503 && error.retryAfter == 91)
            }
        }
    }
}
