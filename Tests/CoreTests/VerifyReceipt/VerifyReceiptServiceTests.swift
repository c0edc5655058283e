import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("verifyReceipt requests")
struct VerifyReceiptServiceTests {
    private static let orders: [[AnswerSource]] = [[.apple, .receipt], [.receipt, .apple]]

    private func bridge(_ answer: [AnswerSource], _ apple: ScriptedAppStore = ScriptedAppStore()) throws -> TestProxy {
        try TestProxy(apple) { $1.answer = answer }
    }

    // MARK: - Genuine receipts

    @Test("Every simulated receipt is answered, whichever source is first", arguments: orders)
    func world(order: [AnswerSource]) async throws {
        let bridge = try bridge(order)
        for receipt in try SharedSimulator.world.receipts {
            let reply = await bridge.ask(receipt.base64)
            #expect(reply.status == 0 || (reply.status == 21006 && receipt.plan.version != nil), "\(receipt.id)")
            #expect(reply.source == order[0])
            #expect(reply.environment == receipt.environment, "\(receipt.id)")
            #expect(reply.json?["status"]?.integer == Int64(reply.status))
        }
    }

    @Test("An endpoint rejects receipts of the other environment with 21007 or 21008")
    func endpoints() async throws {
        for order in Self.orders {
            let bridge = try bridge(order)
            for environment in [AppStoreEnvironment.production, .sandbox] {
                for receipt in [
                    try SharedSimulator.receipt(.activeSubscription, environment),
                    try SharedSimulator.receipt(.oldActiveSubscription, environment, version: 4),
                ] {
                    let other = environment == .production ? AppStoreEnvironment.sandbox : .production
                    #expect(await bridge.ask(receipt.base64, route: .only(environment)).status == 0)
                    let reply = await bridge.ask(receipt.base64, route: .only(other))
                    #expect(reply.text == "{\"status\":\(other == .production ? 21007 : 21008)}")
                }
            }
        }
    }

    @Test("Apple's response is returned byte for byte")
    func passThrough() async throws {
        let body = " {\"status\" : 0,\n\"receipt\":{ },\"zeal\":[1.50, \"\\u00e9é\"], \"status\":0 }\n"
        let bridge = try bridge([.apple], ScriptedAppStore { _ in .body(body) })
        let reply = await bridge.ask(try SharedSimulator.receipt(.nonConsumable).base64)
        #expect(reply.text == body)
        #expect(reply.short == "0 apple Production")
    }

    @Test(
        "Status 0 or 21006 is a response only with a receipt; otherwise the next source is asked",
        arguments: [0, 21006])
    func receiptless(status: Int) async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable).base64
        let apple = ScriptedAppStore { _ in .body(#"{"status":\#(status),"environment":"Production","receipt":[]}"#) }
        #expect(await (try bridge([.apple, .receipt], apple)).ask(receipt).short == "0 receipt Production")
        #expect(apple.requests.count == 3)
        #expect(await (try bridge([.apple], apple)).ask(receipt).short == "21005 apple Production")
        let whole = ScriptedAppStore { _ in .body(#"{"status":\#(status),"receipt":{}}"#) }
        #expect(await (try bridge([.apple], whole)).ask(receipt).short == "\(status) apple Production")
    }

    @Test("Apple's status is returned even if local verification disagrees", arguments: [21003, 21010, 99])
    func verdicts(status: Int) async throws {
        let bridge = try bridge([.apple, .receipt], ScriptedAppStore { _ in .status(status) })
        let reply = await bridge.ask(try SharedSimulator.receipt(.nonConsumable).base64)
        #expect(reply.short == "\(status) apple Production")
        #expect(bridge.apple.requests.count == 1)
    }

    @Test("If Apple rejects the configured secret, the next source answers, and an operator is warned")
    func rejectedSecret() async throws {
        let apple = ScriptedAppStore { $0.index < 3 ? .status(21004) : .body(#"{"status":0,"receipt":{}}"#) }
        let receipt = try SharedSimulator.receipt(.nonConsumable).base64
        let alone = try bridge([.apple], apple)
        #expect(await alone.ask(receipt).short == "21004 apple Production")
        let bridge = try bridge([.apple, .receipt], apple)
        let credentials = bridge.pipelines.counts.rejectedCredentials
        for count in 1...2 {
            #expect(await bridge.ask(receipt).short == "0 receipt Production")
            #expect(credentials.current.map { "\($0.credential) \($0.count)" } == ["sharedSecret \(count)"])
        }
        #expect(await bridge.ask(receipt).short == "0 apple Production")
        #expect(credentials.current.isEmpty)
    }

    @Test("If Apple rejects a password of the client's that cannot be checked, the client gets 21004")
    func rejectedPassword() async throws {
        let bridge = try TestProxy(ScriptedAppStore { _ in .status(21004) }) {
            ($1.answer, $1.sharedSecret) = ([.apple, .receipt], nil)
        }
        let reply = await bridge.ask(try SharedSimulator.receipt(.nonConsumable).base64)
        #expect(reply.short == "21004 apple Production")
    }

    // MARK: - Apple is unavailable

    static let silences: [ScriptedAppStore.Reply] = [
        .http(503), .http(403), .http(302), .body("<html>We'll be back</html>"), .body("{}"), .body(""),
        .body("{\"status\":"), .body("{\"status\":\"soon\"}"), .status(21005), .status(21009), .status(21199),
        .status(21008), .failure(.timedOut), .failure(.connectFailed),
    ]

    // T22
    @Test("If Apple is unavailable, a current receipt is answered locally", arguments: silences)
    func fallback(silence: ScriptedAppStore.Reply) async throws {
        let bridge = try bridge([.apple, .receipt], ScriptedAppStore { _ in silence })
        let reply = await bridge.ask(try SharedSimulator.receipt(.activeSubscription).base64)
        #expect(reply.short == "0 receipt Production")
        #expect(reply.json?["latest_receipt_info"] != nil)
        #expect(reply.json?["pending_renewal_info"] == nil)
        #expect(bridge.apple.requests.count <= 3)
    }

    @Test("If no source is available, the status is 21005 with is_retryable, or Apple's own retryable response")
    func nobody() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription).base64
        let down = await (try bridge([.apple], .isDown)).ask(receipt)
        #expect(down.text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        #expect(down.short == "21005 apple Production")
        let busy = #"{"environment":"Production", "status":21104, "is_retryable":true}"#
        let own = await (try bridge([.apple], ScriptedAppStore { _ in .body(busy) })).ask(receipt)
        #expect(own.text == busy)
    }

    static let stale: [(CustomerKind, UInt8?)] = [
        (.expiredSubscription, nil), (.billingRetry, nil), (.oldExpiredSubscription, 4),
    ]

    @Test("A receipt whose subscription may have been renewed gives 21005 instead of an expiry", arguments: stale)
    func staleSubscription(kind: CustomerKind, version: UInt8?) async throws {
        let receipt = try SharedSimulator.receipt(kind, version: version).base64
        let retry = await (try bridge([.apple, .receipt], .isDown)).ask(receipt)
        #expect(retry.text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        let answer = try TestProxy(.isDown) {
            $1.answer = [.apple, .receipt]
            $1.staleSubscription = .answer
        }
        #expect(await answer.ask(receipt).short == "\(version == nil ? 0 : 21006) receipt Production")
        // As the first source, the receipt is answered locally.
        #expect(await (try bridge([.receipt])).ask(receipt).short == "\(version == nil ? 0 : 21006) receipt Production")
    }

    // T22
    @Test("Apple's 21002 for an authentic receipt is retried once, then the receipt is answered locally")
    func appleSaysMalformed() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription).base64
        let passing = try bridge([.apple, .receipt], ScriptedAppStore { $0.index == 0 ? .status(21002) : .simulated })
        #expect(await passing.ask(receipt).short == "0 apple Production")
        let lasting = try bridge([.apple, .receipt], ScriptedAppStore { _ in .status(21002) })
        #expect(await lasting.ask(receipt).short == "0 receipt Production")
        #expect(lasting.apple.requests.count == 2)
        let alone = try bridge([.apple], ScriptedAppStore { _ in .status(21002) })
        #expect(await alone.ask(receipt).text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        #expect(await alone.ask(try tampered()).text == #"{"status":21002}"#)
        #expect(alone.apple.requests.count == 3)
    }

    // MARK: - Invalid receipts

    private func tampered() throws -> String {
        try #require(try SharedSimulator.hostile.first { $0.mangling == "tamperedByte" }).text
    }

    @Test("Base64 that is not a receipt is forwarded, and gives 21002 if Apple is unavailable")
    func notAReceipt() async throws {
        let body = Array(#"{"receipt-data":"SGVsbG8=","x":1}"#.utf8)
        for order in Self.orders {
            let bridge = try bridge(order)
            #expect(await bridge.ask(body).short == "21002 apple Production")
            #expect(bridge.apple.requests.map(\.body) == [body])
        }
        let down = try bridge([.apple], .isDown)
        #expect(await down.ask(body).short == "21002 receipt Production")
    }

    @Test(
        "A body without base64 receipt data is not forwarded",
        arguments: [
            "not json", "{}", #"{"receipt-data":""}"#, #"{"receipt-data":5}"#, #"{"receipt-data":"a.b.c"}"#,
            #"{"receipt-data":"%2B"}"#,
        ])
    func notForwarded(body: String) async throws {
        for route in [UpstreamRouter.Route.auto, .only(.production), .only(.sandbox)] {
            let bridge = try bridge([.apple, .receipt])
            let reply = await bridge.ask(Array(body.utf8), route: route)
            #expect(reply.text == #"{"status":21002}"#)
            #expect(reply.environment == (route == .only(.sandbox) ? .sandbox : .production))
            #expect(bridge.apple.requests.isEmpty)
        }
    }

    @Test("A changed receipt gives 21003 from every source")
    func forged() async throws {
        for order in Self.orders {
            #expect(await (try bridge(order)).ask(try tampered()).short == "21003 \(order[0]) Production")
        }
        // Local verification needs no response from Apple.
        let down = try bridge([.apple, .receipt], .isDown)
        #expect(await down.ask(try tampered()).text == #"{"status":21003}"#)
    }

    @Test("Each hostile receipt gives its expected status, whichever source is first", arguments: orders)
    func hostile(order: [AnswerSource]) async throws {
        let bridge = try bridge(order)
        for receipt in try SharedSimulator.hostile {
            let reply = await bridge.ask(receipt.text)
            // Apple refuses a signed transaction of a configured app; `signedTransactions: answer` answers it.
            let status = receipt.mangling == "signedTransaction" ? 0 : receipt.status
            #expect(Int64(reply.status) == status, "\(receipt.mangling)")
        }
    }

    @Test("A transactionReceipt with contradictory environments is treated as a sandbox receipt")
    func environmentConflict() async throws {
        let edited = try #require(try SharedSimulator.hostile.first { $0.mangling == "environmentLineAdded" }).text
        let bridge = try bridge([.receipt, .apple])
        #expect(await bridge.ask(edited, route: .only(.production)).text == #"{"status":21007}"#)
        #expect(await bridge.ask(edited, route: .only(.sandbox)).short == "0 receipt Sandbox")
        #expect(await bridge.ask(edited).short == "0 receipt Sandbox")
        let bare = try #require(try SharedSimulator.hostile.first { $0.mangling == "environmentLineRemoved" }).text
        #expect(await bridge.ask(bare, route: .only(.production)).text == #"{"status":21007}"#)
    }

    @Test("A receipt with an unknown issuer is left to the next source, and gives 21005 if there is none")
    func issuerUnknown() async throws {
        let receipt = try SharedSimulator.receipt(.oldActiveSubscription, version: 4).base64
        func bridge(_ answer: [AnswerSource], _ apple: ScriptedAppStore = ScriptedAppStore()) throws -> TestProxy {
            try TestProxy(apple, knowsIntermediates: false) { $1.answer = answer }
        }
        #expect(await (try bridge([.receipt, .apple])).ask(receipt).short == "0 apple Production")
        #expect(
            await (try bridge([.receipt])).ask(receipt).text
                == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        let down = try bridge([.apple, .receipt], .isDown)
        #expect(await down.ask(receipt).text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
    }

    @Test("The tolerant profile repairs mangled receipts, upstream and locally")
    func tolerant() async throws {
        for order in Self.orders {
            let bridge = try TestProxy {
                $0.usesTolerantProfile = true
                $1.answer = order
            }
            let repaired: Set = [
                "lineBreaks64", "lineBreaks76", "spaceForPlus", "percentEncoded", "urlSafeAlphabet", "doubleBase64",
                "hexadecimal", "dataDescription", "unityWrapper", "missingPadding", "doublyPercentEncoded", "pemArmour",
                "prefixedHexadecimal", "postgresqlBytea",
            ]
            for receipt in try SharedSimulator.hostile where repaired.contains(receipt.mangling) {
                #expect(await bridge.ask(receipt.text).short == "0 \(order[0]) Production", "\(receipt.mangling)")
            }
        }
    }

    // MARK: - Apps

    // T8, T28
    @Test("Receipts of unknown apps are forwarded without a secret, or refused")
    func unknownApps() async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable).base64
        let pass = try TestProxy {
            $0.sharedSecret = SharedSecret("account-wide")
            $1.bundleId = BundleIdentifier(rawValue: "com.example.other")
        }
        let body = Question.body(receipt)
        #expect(await pass.ask(body).short == "0 apple Production")
        #expect(pass.apple.requests.map(\.body) == [body])
        let refuse = try TestProxy {
            $0.unknownApps = .refuse
            $1.bundleId = BundleIdentifier(rawValue: "com.example.other")
        }
        #expect(await refuse.ask(body).text == #"{"status":21003}"#)
        #expect(await refuse.ask(try tampered()).text == #"{"status":21003}"#)
        #expect(await refuse.ask("SGVsbG8=").text == #"{"status":21002}"#)
        #expect(refuse.apple.requests.isEmpty)
    }

    @Test("With `sandbox: deny`, sandbox receipts and the sandbox endpoint give 21003")
    func sandboxDenied() async throws {
        for order in Self.orders {
            let bridge = try TestProxy {
                $1.sandbox = .deny
                $1.answer = order
            }
            for kind in [CustomerKind.activeSubscription, .noPurchases] {
                let sandbox = try SharedSimulator.receipt(kind, .sandbox).base64
                for route in [UpstreamRouter.Route.auto, .only(.sandbox), .only(.production)] {
                    #expect(await bridge.ask(sandbox, route: route).text == #"{"status":21003}"#)
                }
            }
            let production = try SharedSimulator.receipt(.nonConsumable).base64
            #expect(await bridge.ask(production, route: .only(.sandbox)).text == #"{"status":21003}"#)
            #expect(bridge.apple.requests.isEmpty)
            #expect(await bridge.ask(production).status == 0)
        }
    }

    @Test("A receipt without purchases is answered locally, and by Apple if Apple is first")
    func appOnly() async throws {
        let receipt = try SharedSimulator.receipt(.noPurchases).base64
        let own = try bridge([.receipt, .apple])
        let reply = await own.ask(receipt)
        #expect(reply.short == "0 receipt Production")
        #expect(reply.json?["receipt"]?["in_app"] == .array([]))
        #expect(reply.json?["latest_receipt_info"] == nil && reply.json?["latest_receipt"] == nil)
        #expect(own.apple.requests.isEmpty)
        #expect(await (try bridge([.apple, .receipt])).ask(receipt).source == .apple)
        #expect(await (try bridge([.apple, .receipt], .isDown)).ask(receipt).short == "0 receipt Production")
    }

    @Test("exclude-old-transactions leaves one row for each subscription and product, also in local responses")
    func exclusion() async throws {
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let series = Set(
            receipt.transactions.map { $0.isAutoRenewable ? $0.originalTransactionId : $0.product.productId })
        #expect(series.count < receipt.transactions.count)
        for order in Self.orders {
            let reply = await (try bridge(order)).ask(receipt.base64, ["exclude-old-transactions": .string("true")])
            #expect(reply.json?["latest_receipt_info"]?.elements?.count == series.count, "\(order)")
        }
    }
}
