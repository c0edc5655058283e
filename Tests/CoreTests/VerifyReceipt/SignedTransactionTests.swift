import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Signed transactions in receipt-data")
struct SignedTransactionTests {
    /// A proxy with a ``ScriptedCustomer``.
    private struct Bridge {
        let appStore = ScriptedCustomer()
        let clock = MovableClock()
        let pipeline: VerifyReceiptService

        init(
            _ answer: [AnswerSource] = [.api], store: (any Store)? = nil,
            _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in }
        ) throws {
            var app = try ScriptedCustomer.app(answer)
            var settings = ProxyConfiguration(trusting: try MintedReceipts.pki)
            change(&settings, &app)
            if app.bundleId != nil { settings.apps = [app] }
            let clock = clock
            pipeline = try ServiceGraph(
                settings: settings, transport: appStore.transport, store: store, tables: .bundled, logger: .silent,
                now: { clock.now }, sleep: { _ in }
            ).verifyReceipt
        }

        /// The customer's newest transaction, as JWS.
        func signed(
            bundleId: String = ScriptedCustomer.bundleId, _ change: (inout ScriptedCustomer.Purchase) -> Void = { _ in }
        ) throws -> String {
            var purchase = try #require(appStore.update { $0.purchases.last })
            change(&purchase)
            return try ScriptedCustomer.signed(purchase, SharedSimulator.noon, bundleId: bundleId)
        }

        func ask(_ item: String, password: String? = nil, route: UpstreamRouter.Route = .auto) async -> SourcedAnswer {
            await pipeline.answer(body: Question.body(item, password: password), route: route)
        }

        /// The status and the source, for example `0 api`.
        func short(_ item: String, password: String? = nil, route: UpstreamRouter.Route = .auto) async -> String {
            let result = await ask(item, password: password, route: route)
            return "\(result.answer.status.rawValue) \(result.source)"
        }

        /// The `latest_receipt` of the response.
        func latest(_ item: String) async throws -> String {
            try #require(try await json(item)["latest_receipt"]?.text)
        }

        func json(_ item: String) async throws -> JSONValue { try JSONValue(reading: await ask(item).answer.body) }
    }

    private static func production() throws -> String { try Bridge().signed() }

    // MARK: - Equality

    /// Returns the rows of a list in a response, as canonical JSON, without those of some transactions.
    private static func rows(_ name: String, _ result: SourcedAnswer, without ids: Set<String>) throws -> [String] {
        let body = try #require(try JSONSerialization.jsonObject(with: Data(result.answer.body)) as? [String: Any])
        return try (body[name] as? [[String: Any]] ?? []).filter { row in
            !((row["transaction_id"] as? String).map(ids.contains) ?? false)
        }.map { row in
            String(decoding: try JSONSerialization.data(withJSONObject: row, options: .sortedKeys), as: UTF8.self)
        }
    }

    @Test("The response to a signed transaction has the rows of the response to a receipt of the same customer")
    func equality() async throws {
        try await ServerAPIWorld.asking(customers: TestSize.pick(debug: 84, release: 300)) {
            appStore, world in
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let pipeline = try world.pipeline([.api], store: store)
            var (compared, downloads) = (0, 0)
            for customer in appStore.sample {
                guard let line = try appStore.signedLine(of: customer),
                    let signed = line["signedTransaction"]?.text
                else { continue }
                let answer = await pipeline.answer(body: Question.body(signed), route: .auto)
                #expect(answer.answer.status == .valid && answer.source == .api, "\(customer.id) \(customer.kind)")
                #expect(answer.environment == customer.environment)
                let json = try JSONValue(reading: answer.answer.body)
                #expect(json["receipt"]?["bundle_id"]?.text == SimulatedApp.first.bundleId)
                #expect(json["receipt"]?["in_app"]?.elements?.isEmpty == false, "\(customer.id)")
                if json["receipt"]?["original_application_version"]?.text != nil { downloads += 1 }
                #expect((json["latest_receipt"] == nil) == (json["latest_receipt_info"] == nil))
                for receipt in appStore.receipts(of: customer) {
                    let theirs = await pipeline.answer(body: Question.body(receipt.base64), route: .auto)
                    // The response to an iOS 6 receipt has another form.
                    guard theirs.source == .api,
                        try JSONValue(reading: theirs.answer.body)["receipt"]?["in_app"] != nil
                    else { continue }
                    for name in ["latest_receipt_info", "pending_renewal_info"] {
                        #expect(
                            try Self.rows(name, answer, without: answer.consumables.all)
                                == Self.rows(name, theirs, without: theirs.consumables.all),
                            "\(name) \(receipt.id) \(customer.kind)")
                    }
                    compared += 1
                }
                guard let latest = json["latest_receipt"]?.text else { continue }
                let again = await pipeline.answer(body: Question.body(latest), route: .auto)
                #expect(
                    try Self.rows("pending_renewal_info", again, without: [])
                        == Self.rows("pending_renewal_info", answer, without: []), "\(customer.id)")
            }
            let enough = TestSize.pick(debug: (compared: 20, downloads: 15), release: (compared: 150, downloads: 100))
            #expect(compared > enough.compared && downloads > enough.downloads, "\(compared) \(downloads)")
        }
    }

    @Test("A signed transaction is accepted in its three forms, an app transaction too, and nothing is sent upstream")
    func forms() async throws {
        let bridge = try Bridge([.apple, .receipt])
        let signed = try bridge.signed()
        for text in [
            signed, signed + "\n", " \r\n\t" + signed + " ", Base64.encode(Array(signed.utf8)),
            "\n" + Base64.encode(Array(signed.utf8)) + "\n", Base64.encode(Array("\n\(signed)\n".utf8)),
            #"{"signedTransaction":"\#(signed)"}"#, #" {"signedTransaction":" \#(signed)\n"} "#,
        ] {
            #expect(await bridge.short(text) == "0 api")
        }
        let download = try MintedReceipts.pki.jwsSigner.jws(
            payload: .object([
                "receiptType": .string("Production"), "bundleId": .string(ScriptedCustomer.bundleId),
                "appAppleId": .number(SimulatedApp.first.appAppleId), "applicationVersion": .string("7"),
                "originalApplicationVersion": .string("3"),
                "receiptCreationDate": .number(SharedSimulator.noon.milliseconds),
            ]))
        let json = try await bridge.json(download)
        #expect(json["status"]?.integer == 0 && json["receipt"]?["original_application_version"]?.text == "3")
        #expect(json["receipt"]?["in_app"]?.elements?.isEmpty == true && json["latest_receipt"] == nil)
        #expect(Set(bridge.appStore.questions).isSubset(of: ["history", "statuses", "download"]))
    }

    // MARK: - Refusals

    private static func notification() throws -> String {
        try MintedReceipts.pki.jwsSigner.jws(payload: .object(["notificationType": .string("TEST")]))
    }

    private static func transaction(purchaseDate: JSONValue) throws -> String {
        try MintedReceipts.pki.jwsSigner.jws(
            payload: .object([
                "transactionId": .string("1"), "originalTransactionId": .string("1"), "purchaseDate": purchaseDate,
                "bundleId": .string(ScriptedCustomer.bundleId), "environment": .string("Production"),
                "price": .string("9990"), "signedDate": .number(SharedSimulator.noon.milliseconds),
            ]))
    }

    // T34
    @Test("What is no transaction, or of an app that is not configured, gets 21002; what is not authentic 21003")
    func refusals() async throws {
        let bridge = try Bridge([.apple, .api, .receipt])
        let signed = try bridge.signed()
        for (item, status) in [
            ("700000000000101", 21002), ("{}", 21002), (#"{"signedTransaction":"700000000000101"}"#, 21002),
            (try bridge.signed(bundleId: "com.example.stranger"), 21002),
            (try ScriptedCustomer.signed(ScriptedCustomer.Subscription(), SharedSimulator.noon), 21002),
            (String(signed.dropLast(8)) + "AAAAAAAA", 21003),
            (signed.replacing(".", with: ".e", maxReplacements: 1), 21003),
            (signed.withAlgorithm("none"), 21003), (signed.withAlgorithm("HS256"), 21003),
            // Not judged: Apple may sign with another algorithm in the future.
            (signed.withAlgorithm("ES384"), 21005), (try Self.transaction(purchaseDate: .string("x")), 21005),
            (try Self.notification(), 21002),
        ] {
            #expect(await bridge.short(item) == "\(status) receipt", "\(item.prefix(40))")
        }
        #expect(bridge.appStore.questions.isEmpty)
        let stranger = await bridge.ask(try bridge.signed(bundleId: "com.example.stranger"))
        #expect(stranger.unconfiguredApp?.rawValue == "com.example.stranger")
        let counts = bridge.pipeline.counts.authenticationFailures.words
        for count in [
            "malformed 2", "unsigned 2", "badSignature 2", "unknownStructure 1",
            "unsupportedAlgorithm 1",
        ] { #expect(counts.contains(count), "\(counts)") }
        let refusing = try Bridge { $1.signedTransactions = .refuse }
        #expect(await refusing.short(signed) == "21002 receipt")
        let unconfigured = try Bridge { $1.bundleId = nil }
        #expect(await unconfigured.short(signed) == "21002 receipt")
    }

    // T34
    @Test("The endpoint, the password and the rules of the app hold for signed transactions as for receipts")
    func rules() async throws {
        let bridge = try Bridge()
        let signed = try bridge.signed()
        for item in [signed, try await bridge.latest(signed)] {
            #expect(await bridge.short(item, route: .only(.sandbox)) == "21008 receipt")
            #expect(await bridge.short(item, route: .only(.production)) == "0 api")
            #expect(await bridge.short(item, password: "wrong") == "21004 receipt")
            #expect(await bridge.short(item, password: SimulatedApp.first.sharedSecret) == "0 api")
        }
        let required = try Bridge { $1.clientPassword = .required }
        #expect(await required.short(signed) == "21004 receipt")
    }

    @Test("Without records a signed transaction answers for itself")
    func offline() async throws {
        let signed = try Self.production()
        let offline = try Bridge([.apple]) { $1.serverAPI = nil }
        let json = try await offline.json(signed)
        #expect(json["status"]?.integer == 0)
        #expect(json["latest_receipt_info"]?.elements?.compactMap { $0["transaction_id"]?.text } == ["700000000000101"])
        #expect(json["latest_receipt"]?.text == Base64.encode(Array(signed.utf8)))
        #expect(json["pending_renewal_info"] == nil)
        #expect(offline.appStore.questions.isEmpty)
    }

    @Test("The sources are those of the app without apple, otherwise those that are configured, then the item")
    func sources() {
        for (named, api, store, expected) in [
            ([.apple, .receipt], true, true, [.api, .stored, .receipt]), ([.apple], false, false, [.receipt]),
            ([.apple], false, true, [.stored, .receipt]), ([.apple, .api], true, true, [.api]),
            ([.stored, .api, .receipt], true, true, [.stored, .api, .receipt]),
            ([.receipt], true, false, [.api, .receipt]),
        ] as [([AnswerSource], Bool, Bool, [AnswerSource])] {
            #expect(SignedItemVerifier.sources(named, hasServerAPI: api, hasStore: store) == expected, "\(named)")
        }
    }

    // MARK: - latest_receipt

    @Test("latest_receipt is base64 of the newest signed transaction at hand, of a subscription if there is one")
    func latestReceipt() throws {
        func signed(_ id: String, _ product: String, purchased: Int64, bundleId: String = ScriptedCustomer.bundleId)
            throws -> Signed<TransactionPayload>
        {
            let claims = """
                {"transactionId":"\(id)","bundleId":"\(bundleId)","environment":"Sandbox","type":"\(product)",
                "purchaseDate":\(purchased),"signedDate":9}
                """
            let payload = try TransactionPayload(JSONObject(Array(claims.utf8)))
            return Signed(payload: payload, text: id)
        }
        let (renewable, other, consumable) = ("Auto-Renewable Subscription", "Non-Consumable", "Consumable")
        let (first, second) = (try signed("1", renewable, purchased: 1), try signed("2", renewable, purchased: 2))
        let (third, fourth) = (try signed("3", other, purchased: 3), try signed("4", consumable, purchased: 4))
        let foreign = try signed("5", renewable, purchased: 5, bundleId: "")
        for (own, known, expected) in [
            (nil, [first, second], "2"), (second, [first], "2"), (first, [second, third, fourth], "2"),
            (third, [], "3"), (third, [fourth], "3"), (fourth, [], "4"), (nil, [fourth], nil), (nil, [], nil),
            (first, [foreign], "1"), (foreign, [], nil),
        ] as [(Signed<TransactionPayload>?, [Signed<TransactionPayload>], String?)] {
            let records = CustomerRecords(
                environment: .sandbox, bundleId: nil, appAppleId: nil, transactions: known, subscriptions: [],
                revision: nil)
            let text = AuthenticItem.latestReceipt(of: own, records).map {
                String(decoding: $0.reveal(), as: UTF8.self)
            }
            #expect(text == expected.map { Base64.encode(Array($0.utf8)) })
        }
    }

    // T34
    @Test("latest_receipt is accepted by every server of the app, and not with one changed byte")
    func accepted() async throws {
        let bridge = try Bridge()
        let latest = try await bridge.latest(try bridge.signed())
        #expect(try await bridge.json(latest)["receipt"]?["in_app"]?.elements?.count == 3)
        #expect(await (try Bridge()).short(latest) == "0 api")
        let stranger = try Bridge { $1.bundleId = BundleIdentifier(rawValue: "com.example.other") }
        #expect(await stranger.short(latest) == "21002 receipt")
        var changed = try #require(Data(base64Encoded: latest))
        changed[changed.count - 20] = changed[changed.count - 20] == 0x41 ? 0x42 : 0x41
        #expect(await bridge.short(changed.base64EncodedString()) == "21003 receipt")
    }

    // T34
    @Test("A handle of 0.1.0 gets 21002, is counted by its name, and is not sent upstream")
    func formerHandle() async throws {
        let bridge = try Bridge([.apple, .api])
        let handle = Base64.encode(Array("rb1.".utf8) + Array(repeating: 7, count: 90))
        #expect(await bridge.short(handle) == "21002 receipt")
        #expect(bridge.pipeline.counts.authenticationFailures.words.contains("bridgeHandle 1"))
        #expect(bridge.appStore.questions.isEmpty)
    }

    @Test("After an erasure latest_receipt looks the customer up again, as a receipt does")
    func erased() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let bridge = try Bridge(store: store)
        let latest = try await bridge.latest(try bridge.signed())
        let request = ErasureRequest(.transaction(try #require(TransactionIdentifier(rawValue: "700000000000100"))))
        #expect(await eventually { (try? await store.footprint(of: request))?.isEmpty == false })
        #expect(try await !store.erase(request, at: bridge.clock.now).isEmpty)
        try await bridge.pipeline.invalidateErasedCustomers(in: store)
        let lookups = bridge.appStore.questions.count
        #expect(await bridge.short(latest) == "0 api" && bridge.appStore.questions.count > lookups)
    }
}
