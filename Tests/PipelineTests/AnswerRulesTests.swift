import InMemoryLogging
import Ledger
import Logging
import Pipeline
import Rendering
import Simulator
import StoreTypes
import TestSupport
import Testing

@Suite("An app's rules, judged on Apple's answer")
struct AnswerRulesTests {
    /// Bytes that Apple may take for a sandbox receipt, and what is refused before Apple is asked.
    struct Post: Sendable, CustomTestStringConvertible {
        let name: String
        /// Of the app receipt and the transactionReceipt of one sandbox customer.
        let text: @Sendable (_ app: [UInt8], _ transaction: [UInt8]) throws -> [UInt8]
        /// It is refused here for its own word.
        var isRefusedAtOnce = false

        var testDescription: String { name }

        func base64() throws -> String {
            Base64.encode(
                try text(
                    SharedSimulator.receipt(.activeSubscription, .sandbox).bytes,
                    SharedSimulator.receipt(.oldActiveSubscription, .sandbox, version: 3).bytes))
        }
    }

    /// The payload of a sandbox App Receipt, but for its type.
    private static func typed(_ type: String) throws -> [UInt8] {
        try AppReceiptEncoder(signer: SharedSimulator.pki.receiptSigner).encode(
            payload: DEREncoder.set(
                [
                    Simulator.ReceiptAttribute.text(0, type), .text(2, SimulatedApp.first.bundleId),
                    .date(12, MintedReceipts.creation),
                ].map(\.der), sorted: false))
    }

    static let posts = [
        Post(name: "App Receipt", text: { app, _ in app }, isRefusedAtOnce: true),
        Post(
            name: "App Receipt and one byte", text: { app, _ in ReceiptVariants.withTrailingByte(app) },
            isRefusedAtOnce: true),
        Post(
            name: "App Receipt, its content in five constructed OCTET STRINGs",
            text: { app, _ in ReceiptVariants.withNestedContent(app, depth: 5) }),
        Post(name: "App Receipt of an unheard-of type", text: { _, _ in try typed("ProductionSandbox2") }),
        Post(name: "transactionReceipt", text: { _, transaction in transaction }, isRefusedAtOnce: true),
        Post(
            name: "transactionReceipt with 257 unsigned keys",
            text: { _, transaction in
                ReceiptVariants.withOuterText(transaction, (0..<257).map { "\"k\($0)\" = \"\";" }.joined())
            }),
        Post(
            name: "transactionReceipt with an array",
            text: { _, transaction in ReceiptVariants.withOuterText(transaction, "\"a\" = (\"b\");") }),
        Post(
            name: "transactionReceipt with a comment",
            text: { _, transaction in ReceiptVariants.withOuterText(transaction, "/* c */") }),
        Post(name: "bytes that are no receipt", text: { _, _ in Array("Hello".utf8) }),
    ]

    private static let owned = "2000000000000901"
    private static let names: KeyValuePairs = [
        "App Receipt": #""bundle_id":"com.example.app""#, "iOS 6": #""bid":"com.example.app""#, "none": #""x":"y""#,
    ]

    private static func body(_ name: String, environment: String = "", ids: String = owned) -> String {
        #"{"receipt":{\#(name),"in_app":[{"transaction_id":"\#(ids)","original_transaction_id":"\#(ids)"}]},"#
            + #"\#(environment)"status":0}"#
    }

    /// Says 21007, and of the sandbox this.
    private static func sandbox(_ body: String) -> FakeApple {
        FakeApple { environment, _ in environment == .production ? .status(21007) : .body(body) }
    }

    // T32
    @Test("refuse what Apple takes for a sandbox receipt, whatever could be read of it here", arguments: posts)
    func sandboxDenied(post: Post) async throws {
        let text = try post.base64()
        for (form, name) in Self.names {
            let body = Self.body(name)
            for route in [UpstreamRouter.Route.auto, .only(.sandbox)] {
                let denied = try TestProxy(Self.sandbox(body)) { $1.sandbox = .deny }
                #expect(await denied.ask(text, route: route).text == #"{"status":21003}"#, "\(form) \(route)")
                if post.isRefusedAtOnce { #expect(denied.apple.questions.isEmpty) }
                let strangers = try TestProxy(Self.sandbox(body)) {
                    $1.testers = SandboxAllowlist(["2000000000000777"])
                }
                #expect(await strangers.ask(text, route: route).text == #"{"status":21003}"#, "\(form) \(route)")
                // Without a rule it is Apple's word, byte for byte.
                let allowed = try TestProxy(Self.sandbox(body)) { $1.answer = [.apple] }
                let reply = await allowed.ask(text, route: route)
                #expect(reply.text == body && reply.short == "0 apple Sandbox", "\(form) \(route)")
            }
        }
    }

    // T32
    @Test("take a tester's receipt that is unreadable here by the purchases in Apple's answer")
    func testers() async throws {
        for post in Self.posts where !post.isRefusedAtOnce {
            let bridge = try TestProxy(Self.sandbox(Self.body(#""bundle_id":"com.example.app""#))) {
                $1.testers = SandboxAllowlist([Self.owned])
            }
            #expect(await bridge.ask(try post.base64()).short == "0 apple Sandbox", "\(post.name)")
        }
    }

    // T32
    @Test("are those of the app that Apple names, not of the one that the bytes claim to be")
    func otherApp() async throws {
        let other = #""bundle_id":"com.example.other""#
        func bridge(_ body: String, _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void) throws
            -> TestProxy
        {
            try TestProxy(FakeApple { _, _ in .body(body) }) { settings, app in change(&settings, &app) }
        }
        let unreadable = Base64.encode(Array("Hello".utf8))
        let claimed = Base64.encode(try Self.typed("Production2"))
        for body in [Self.body(other), Self.body(#""x":"y""#)] {
            let refuse = try bridge(body) { settings, _ in settings.unknownApps = .refuse }
            #expect(await refuse.ask(claimed).text == #"{"status":21003}"#)
            #expect(refuse.apple.questions.count == 1)
            #expect(await refuse.ask(unreadable).text == #"{"status":21002}"#)
            let pass = try bridge(body) { _, _ in }
            #expect(await pass.ask(claimed).text == body)
        }
        // Of an app that is not configured there is no rule.
        let sandbox = Self.body(other, environment: #""environment":"Sandbox","#)
        let denied = try bridge(sandbox) { _, app in app.sandbox = .deny }
        #expect(await denied.ask(unreadable).text == sandbox)
        // The environment in the answer counts, also from the production endpoint.
        let own = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Sandbox","#)
        #expect(await (try bridge(own) { _, app in app.sandbox = .deny }).ask(unreadable).text == #"{"status":21003}"#)
        let production = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Production","#)
        #expect(await (try bridge(production) { _, app in app.sandbox = .deny }).ask(unreadable).text == production)
    }

    // T32
    @Test("ask no sandbox about bytes that claim to be of an app without sandbox receipts")
    func notFollowed() async throws {
        let claimed = Base64.encode(try Self.typed("Production2"))
        let denied = try TestProxy(Self.sandbox(Self.body(#""bundle_id":"com.example.app""#))) { $1.sandbox = .deny }
        #expect(await denied.ask(claimed).short == "21003 receipt Sandbox")
        #expect(denied.apple.environments == [.production])
        // A receipt of production that Apple sends away by mistake stays good: the sandbox says so.
        let mistaken = FakeApple { environment, _ in .status(environment == .production ? 21007 : 21008) }
        let bridge = try TestProxy(mistaken) { $1.sandbox = .deny }
        #expect(await bridge.ask(try SharedSimulator.receipt(.nonConsumable).base64).short == "0 receipt Production")
    }

    // MARK: - Replay

    /// The same receipt as mallory may post it.
    static let copies: [(name: String, of: @Sendable ([UInt8]) -> [UInt8])] = [
        ("as it is", { $0 }), ("one byte appended", ReceiptVariants.withTrailingByte),
        ("its content nested", { ReceiptVariants.withNestedContent($0, depth: 5) }),
    ]

    // T28, T32
    @Test(
        "see a purchase of another user in whatever form it is presented",
        arguments: [AppConfiguration.Replay.off, .report, .refuse])
    func replay(policy: AppConfiguration.Replay) async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.originalTransactionId)
        let body = Self.body(#""bundle_id":"com.example.app""#, ids: id)
        for (name, copy) in Self.copies {
            let (bridge, lines) = try watching(FakeApple { _, _ in .body(body) }) { $1.replay = policy }
            let (own, taken) = (Base64.encode(receipt.bytes), Base64.encode(copy(receipt.bytes)))
            for _ in 0..<2 {
                #expect(await bridge.ask(Question.body(own), user: "alice").short == "0 apple Production")
            }
            #expect(lines().isEmpty)
            let reply = await bridge.ask(Question.body(taken), user: "mallory")
            #expect(reply.status == (policy == .refuse ? 21003 : 0), "\(name)")
            if policy != .refuse { #expect(reply.text == body) }
            #expect(lines() == (policy == .off ? [] : ["count 1"]), "\(name)")
            #expect(await bridge.ask(Question.body(own), user: "alice").status == 0)
        }
    }

    // T28, T32
    @Test("see it also in Apple's answer to a receipt that is unreadable here or has no purchase yet")
    func replayInAnswer() async throws {
        let body = Self.body(#""bundle_id":"com.example.app""#)
        let empty = try SharedSimulator.receipt(.noPurchases).base64
        for text in [Base64.encode(Array("Hello".utf8)), empty] {
            let (bridge, lines) = try watching(FakeApple { _, _ in .body(body) }) { $1.replay = .refuse }
            #expect(await bridge.ask(Question.body(text), user: "alice").text == body)
            #expect(await bridge.ask(Question.body(text), user: "mallory").text == #"{"status":21003}"#)
            #expect(lines() == ["count 1"])
        }
    }

    /// A bridge, and how often it has logged a replay.
    private func watching(
        _ apple: FakeApple, _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void
    ) throws -> (TestProxy, () -> [String]) {
        let handler = InMemoryLogHandler()
        let bridge = try TestProxy(apple, logger: Logger(label: "test") { _ in handler }, change)
        return (
            bridge,
            {
                handler.entries.filter { $0.message == "purchase presented with a different account" }.map {
                    "count \($0.metadata["count"] ?? "-")"
                }
            }
        )
    }

    // MARK: - Kept answers

    // T32
    @Test("count for an answer that was kept before the rule, and keep none that they refuse")
    func kept() async throws {
        // Of production by its own word, and of the sandbox by Apple's.
        let receipt = try SharedSimulator.receipt(.nonConsumable).base64
        let body = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Sandbox","#)
        let folder = try TemporaryFolder()
        let store = try Store(path: folder.path("bridge.sqlite"))
        let denied = try TestProxy(Self.sandbox(body), store: store) { $1.sandbox = .deny }
        #expect(await denied.ask(receipt).text == #"{"status":21003}"#)
        await denied.pipelines.finishKeeping()
        #expect(try await store.lastGoodUsage().count == 0)
        let allowed = try TestProxy(Self.sandbox(body), store: store)
        #expect(await allowed.ask(receipt).text == body)
        await allowed.pipelines.finishKeeping()
        #expect(try await store.lastGoodUsage().count == 1)
        let down = try TestProxy(FakeApple(instead: FakeApple.isDown), store: store) { $1.answer = [.apple] }
        #expect(await down.ask(receipt).short == "0 stored Sandbox")
        let since = try TestProxy(FakeApple(instead: FakeApple.isDown), store: store) {
            $1.answer = [.apple]
            $1.sandbox = .deny
        }
        #expect(await since.ask(receipt).text == #"{"status":21003}"#)
        await store.close()
    }
}
