import ReceiptBridgeBase
import ReceiptBridgeCore
import InMemoryLogging
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

/// Apple may be able to read a receipt in bytes that are unreadable here. Such bytes must not bypass the rules of an
/// app: the sandbox rule, the sandbox allow list, replay detection and `unknownApps`.
// T28, T32
@Suite("App rules checked against Apple's response")
struct UpstreamResponseRulesTests {
    /// Bytes that Apple may accept as a sandbox receipt.
    struct Post: Sendable, CustomTestStringConvertible {
        let name: String
        /// Makes the bytes from the App Receipt and the transactionReceipt of one sandbox customer.
        let text: @Sendable (_ app: [UInt8], _ transaction: [UInt8]) throws -> [UInt8]
        /// Whether the receipt itself says that it is from the sandbox, so that it is refused before Apple is called.
        var isRefusedAtOnce = false

        var testDescription: String { name }

        func base64() throws -> String {
            Base64.encode(
                try text(
                    SharedSimulator.receipt(.activeSubscription, .sandbox).bytes,
                    SharedSimulator.receipt(.oldActiveSubscription, .sandbox, version: 4).bytes))
        }
    }

    /// An authentic App Receipt of the given type, with a bundle id and a creation date only.
    private static func typed(_ type: String) throws -> [UInt8] {
        try AppReceiptEncoder(signer: SharedSimulator.pki.receiptSigner).encode(
            payload: DEREncoder.set(
                [
                    ReceiptBridgeSimulator.ReceiptAttribute.text(0, type), .text(2, SimulatedApp.first.bundleId),
                    .date(12, MintedReceipts.creation),
                ].map(\.der), sorted: false))
    }

    /// From a plain receipt to bytes in which nothing can be read here.
    static let posts = [
        Post(name: "App Receipt", text: { app, _ in app }, isRefusedAtOnce: true),
        Post(
            name: "App Receipt and one byte", text: { app, _ in ReceiptVariants.withTrailingByte(app) },
            isRefusedAtOnce: true),
        Post(
            name: "App Receipt, its content in five constructed OCTET STRINGs",
            text: { app, _ in ReceiptVariants.withNestedContent(app, depth: 5) }),
        Post(name: "App Receipt of an unknown type", text: { _, _ in try typed("ProductionSandbox2") }),
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

    /// The transaction id in Apple's response.
    private static let owned = "2000000000000901"
    /// The ways in which a response may name its app; the last one names none.
    private static let names: KeyValuePairs = [
        "App Receipt": #""bundle_id":"com.example.app""#, "iOS 6": #""bid":"com.example.app""#, "none": #""x":"y""#,
    ]

    private static func body(_ name: String, environment: String = "", ids: String = owned) -> String {
        #"{"receipt":{\#(name),"in_app":[{"transaction_id":"\#(ids)","original_transaction_id":"\#(ids)"}]},"#
            + #"\#(environment)"status":0}"#
    }

    /// Returns 21007 from the production endpoint, and this body from the sandbox endpoint.
    private static func sandbox(_ body: String) -> ScriptedAppStore {
        ScriptedAppStore { $0.environment == .production ? .status(21007) : .body(body) }
    }

    // T32
    @Test("A denied sandbox refuses a receipt that Apple accepts, even if it is unreadable here", arguments: posts)
    func sandboxDenied(post: Post) async throws {
        let text = try post.base64()
        for (form, name) in Self.names {
            let body = Self.body(name)
            for route in [UpstreamRouter.Route.auto, .only(.sandbox)] {
                let denied = try TestProxy(Self.sandbox(body)) { $1.sandbox = .deny }
                #expect(await denied.ask(text, route: route).text == #"{"status":21003}"#, "\(form) \(route)")
                if post.isRefusedAtOnce { #expect(denied.apple.requests.isEmpty) }
                let strangers = try TestProxy(Self.sandbox(body)) {
                    $1.testers = SandboxAllowlist(["2000000000000777"])
                }
                #expect(await strangers.ask(text, route: route).text == #"{"status":21003}"#, "\(form) \(route)")
                // Without a rule, Apple's response is returned byte for byte.
                let allowed = try TestProxy(Self.sandbox(body)) { $1.answer = [.apple] }
                let reply = await allowed.ask(text, route: route)
                #expect(reply.text == body && reply.short == "0 apple Sandbox", "\(form) \(route)")
            }
        }
    }

    // T32
    @Test("A tester's receipt that is unreadable here is allowed by the purchases in Apple's response")
    func testers() async throws {
        for post in Self.posts where !post.isRefusedAtOnce {
            let proxy = try TestProxy(Self.sandbox(Self.body(#""bundle_id":"com.example.app""#))) {
                $1.testers = SandboxAllowlist([Self.owned])
            }
            #expect(await proxy.ask(try post.base64()).short == "0 apple Sandbox", "\(post.name)")
        }
    }

    // T32
    @Test("The rules of the app in Apple's response apply, not those of the app that the bytes claim")
    func otherApp() async throws {
        let other = #""bundle_id":"com.example.other""#
        func proxy(_ body: String, _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void) throws
            -> TestProxy
        {
            try TestProxy(ScriptedAppStore { _ in .body(body) }) { settings, app in change(&settings, &app) }
        }
        let unreadable = Base64.encode(Array("Hello".utf8))
        let claimed = Base64.encode(try Self.typed("Production2"))
        for body in [Self.body(other), Self.body(#""x":"y""#)] {
            let refuse = try proxy(body) { settings, _ in settings.unknownApps = .refuse }
            #expect(await refuse.ask(claimed).text == #"{"status":21003}"#)
            #expect(refuse.apple.requests.count == 1)
            #expect(await refuse.ask(unreadable).text == #"{"status":21002}"#)
            let pass = try proxy(body) { _, _ in }
            #expect(await pass.ask(claimed).text == body)
        }
        // No rule applies to an app that is not configured.
        let sandbox = Self.body(other, environment: #""environment":"Sandbox","#)
        let denied = try proxy(sandbox) { _, app in app.sandbox = .deny }
        #expect(await denied.ask(unreadable).text == sandbox)
        // The environment in the response counts, even if the production endpoint sent it.
        let own = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Sandbox","#)
        #expect(await (try proxy(own) { _, app in app.sandbox = .deny }).ask(unreadable).text == #"{"status":21003}"#)
        let production = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Production","#)
        #expect(await (try proxy(production) { _, app in app.sandbox = .deny }).ask(unreadable).text == production)
    }

    // T32
    @Test("The sandbox endpoint is not called for bytes that claim an app with a denied sandbox")
    func notFollowed() async throws {
        let claimed = Base64.encode(try Self.typed("Production2"))
        let denied = try TestProxy(Self.sandbox(Self.body(#""bundle_id":"com.example.app""#))) { $1.sandbox = .deny }
        #expect(await denied.ask(claimed).short == "21003 receipt Sandbox")
        #expect(denied.apple.requests.map(\.environment) == [.production])
        // A production receipt for which Apple returns 21007 by mistake stays valid, because the sandbox endpoint
        // returns 21008.
        let mistaken = ScriptedAppStore { .status($0.environment == .production ? 21007 : 21008) }
        let proxy = try TestProxy(mistaken) { $1.sandbox = .deny }
        #expect(await proxy.ask(try SharedSimulator.receipt(.nonConsumable).base64).short == "0 receipt Production")
    }

    // MARK: - Replay

    /// The encodings of one receipt that another user may send.
    static let copies: [(name: String, of: @Sendable ([UInt8]) -> [UInt8])] = [
        ("unchanged", { $0 }), ("one byte appended", ReceiptVariants.withTrailingByte),
        ("content nested", { ReceiptVariants.withNestedContent($0, depth: 5) }),
    ]

    // T28, T32
    @Test(
        "Replay detection recognizes another user's purchase in any encoding of the receipt",
        arguments: [AppConfiguration.Replay.off, .report, .refuse])
    func replay(policy: AppConfiguration.Replay) async throws {
        let receipt = try SharedSimulator.receipt(.nonConsumable)
        let id = try #require(receipt.transactions.first?.originalTransactionId)
        let body = Self.body(#""bundle_id":"com.example.app""#, ids: id)
        for (name, copy) in Self.copies {
            let (proxy, lines) = try proxyCountingReplays(ScriptedAppStore { _ in .body(body) }) { $1.replay = policy }
            let (own, taken) = (Base64.encode(receipt.bytes), Base64.encode(copy(receipt.bytes)))
            for _ in 0..<2 {
                #expect(await proxy.ask(Question.body(own), user: "alice").short == "0 apple Production")
            }
            #expect(lines().isEmpty)
            let reply = await proxy.ask(Question.body(taken), user: "mallory")
            #expect(reply.status == (policy == .refuse ? 21003 : 0), "\(name)")
            if policy != .refuse { #expect(reply.text == body) }
            #expect(lines() == (policy == .off ? [] : ["count 1"]), "\(name)")
            #expect(await proxy.ask(Question.body(own), user: "alice").status == 0)
        }
    }

    // T28, T32
    @Test("Replay detection checks Apple's response if the receipt is unreadable here or has no purchase yet")
    func replayInAnswer() async throws {
        let body = Self.body(#""bundle_id":"com.example.app""#)
        let empty = try SharedSimulator.receipt(.noPurchases).base64
        for text in [Base64.encode(Array("Hello".utf8)), empty] {
            let (proxy, lines) = try proxyCountingReplays(ScriptedAppStore { _ in .body(body) }) { $1.replay = .refuse }
            #expect(await proxy.ask(Question.body(text), user: "alice").text == body)
            #expect(await proxy.ask(Question.body(text), user: "mallory").text == #"{"status":21003}"#)
            #expect(lines() == ["count 1"])
        }
    }

    /// A proxy, and the replays that it has logged.
    private func proxyCountingReplays(
        _ apple: ScriptedAppStore, _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void
    ) throws -> (TestProxy, () -> [String]) {
        let handler = InMemoryLogHandler()
        let proxy = try TestProxy(apple, logger: Logger(label: "test") { _ in handler }, change)
        return (
            proxy,
            {
                handler.entries.filter { $0.message == "purchase presented with a different account" }.map {
                    "count \($0.metadata["count"] ?? "-")"
                }
            }
        )
    }

    // MARK: - Archived responses

    // T32
    @Test("A rule applies to responses archived before it, and a refused response is not archived")
    func archived() async throws {
        // The receipt says that it is from production, and Apple's response says sandbox.
        let receipt = try SharedSimulator.receipt(.nonConsumable).base64
        let body = Self.body(#""bundle_id":"com.example.app""#, environment: #""environment":"Sandbox","#)
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let denied = try TestProxy(Self.sandbox(body), store: store) { $1.sandbox = .deny }
        #expect(await denied.ask(receipt).text == #"{"status":21003}"#)
        await denied.pipelines.finishWriting()
        #expect(try await store.lastGoodUsage().count == 0)
        let allowed = try TestProxy(Self.sandbox(body), store: store)
        #expect(await allowed.ask(receipt).text == body)
        await allowed.pipelines.finishWriting()
        #expect(try await store.lastGoodUsage().count == 1)
        let down = try TestProxy(.isDown, store: store) { $1.answer = [.apple] }
        #expect(await down.ask(receipt).short == "0 stored Sandbox")
        let since = try TestProxy(.isDown, store: store) {
            $1.answer = [.apple]
            $1.sandbox = .deny
        }
        #expect(await since.ask(receipt).text == #"{"status":21003}"#)
    }
}
