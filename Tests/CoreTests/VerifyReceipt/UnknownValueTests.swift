import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Values that Apple does not document")
struct UnknownValueTests {
    private static let newest = "700000000000101"
    private static let secret = SimulatedApp.first.sharedSecret

    /// Members that say whose purchase it is. Every other text or number of a payload is tried, so that a new
    /// enumeration is tried without a change here.
    static let identity: Set<String> = ["transactionId", "originalTransactionId", "bundleId", "appAppleId"]

    /// Each text and each number of a payload, with values that are new, empty, or spelled differently than in a signed
    /// payload.
    static func changes(of payload: Any, in signed: JSONValue? = nil) -> [JSONValue.Member] {
        Mirror(reflecting: payload).children.flatMap { child -> [JSONValue.Member] in
            guard let name = child.label, !identity.contains(name) else { return [] }
            let values: [JSONValue] =
                switch Swift.type(of: child.value) {
                case is String?.Type:
                    ["Something New", "", signed?[name]?.text?.lowercased()].compactMap { $0.map { .string($0) } }
                case is Int64?.Type: [.number(-1), .number(99), .number(.max)]
                default: []
                }
            return values.map { JSONValue.Member(name, $0) }
        }
    }

    /// The claims of a JWS.
    private static func claims(_ text: String) throws -> JSONValue {
        let segment = try #require(text.split(separator: ".").dropFirst().first)
        let bytes = Array(segment.utf8)
        let claims = Base64Text.decode(bytes.span, .urlSafe)
        return try JSONValue(reading: try #require(claims))
    }

    /// What a client reads of a response: the status, the end of each period, and the number of renewals.
    private static func access(_ reply: TestProxy.Reply) -> [String] {
        let rows = reply.json?["latest_receipt_info"]?.elements ?? []
        return ["\(reply.status)", "\(reply.json?["pending_renewal_info"]?.elements?.count ?? -1) renewals"]
            + rows.map { "\($0["transaction_id"]?.text ?? "-") \($0["expires_date_ms"]?.text ?? "-")" }
    }

    private func bridge(_ answer: [AnswerSource] = [.api]) throws -> StoringTestProxy {
        try StoringTestProxy(answer) { $0.cacheSeconds = 0 }
    }

    @Test(
        "A transaction of a type that is not known is a subscription exactly if it expires",
        arguments: [nil, "Subscription Bundle", "auto-renewable subscription", "Auto-Renewable", ""])
    func type(type: String?) async throws {
        let bridge = try bridge([.stored, .api])
        let change = JSONValue.Member("type", type.map { .string($0) } ?? .null)
        let receipt = try bridge.appStore.receipt()
        let expected = Self.access(await bridge.askAPI(receipt))
        func signed() throws -> [String] {
            try bridge.appStore.update { world in
                try world.purchases.map { try ScriptedCustomer.signed($0, world.clock) }
            }
        }
        var refusals: [Int] = []
        // With a store of its own, because one of them is looked up and stored.
        let known = try StoringTestProxy([.api], appStore: bridge.appStore)
        for text in try signed() { refusals.append(await known.ask(text, password: "wrong").status) }
        #expect(refusals.filter { $0 == 21004 }.count >= 2)
        bridge.appStore.update { world in
            for index in world.purchases.indices { world.purchases[index].changes = [change] }
        }
        let fromAPI = await bridge.ask(receipt)
        #expect(fromAPI.source == .api && Self.access(fromAPI) == expected)
        #expect(await bridge.waitUntilStored(receipt))
        #expect(Self.access(await bridge.ask(receipt)) == expected)
        let texts = try signed()
        let rows = texts.map { Signed<TransactionPayload>(storedText: $0).flatMap { TransactionRow($0) } }
        #expect(rows.map(\.?.isSubscription) == [true, false, true])

        for (text, refusal) in zip(texts, refusals) {
            #expect(await bridge.ask(text, password: "wrong").status == refusal)
        }
        #expect(Self.access(await bridge.ask(texts[2])).prefix(2) == ["0", "1 renewals"])
        let views = bridge.graph.customerView
        let found = try await views.view(body: JSONValue.object(["signedTransaction": .string(texts[2])]).bytes)
        let view = try JSONValue(reading: views.renderer.render(found))
        #expect(view["subscriptions"]?.elements?.count == 1 && view["transactions"]?.elements?.count == 3)
        #expect(view["transactions"]?.elements?.last?["type"]?.text == type)
    }

    /// Asks with each change of a claim, and expects the same access and the claim.
    ///
    /// - Parameter sign: makes a change, and returns the signed text of the changed payload.
    private func expectUnchangedAccess<Payload: SignedClaims>(
        _ payload: Payload, _ claims: KeyPath<Payload, [UInt8]>, moreThan count: Int,
        _ sign: (inout ScriptedCustomer.World, JSONValue.Member?) throws -> String
    ) async throws {
        let bridge = try bridge()
        let receipt = try bridge.appStore.receipt()
        let expected = Self.access(await bridge.ask(receipt, password: Self.secret))
        #expect(expected.count == 5 && expected[1] == "1 renewals")
        let changes = Self.changes(of: payload, in: try bridge.appStore.update { try Self.claims(sign(&$0, nil)) })
        #expect(changes.count > count)
        for change in changes {
            let signed = try bridge.appStore.update { try sign(&$0, change) }
            #expect(Self.access(await bridge.ask(receipt, password: Self.secret)) == expected, "\(change)")
            let payload = try #require(Signed<Payload>(storedText: signed)?.payload)
            #expect(try JSONValue(reading: payload[keyPath: claims])[change.key] == change.value)
        }
    }

    @Test("An unknown value of any member of a transaction changes no access, and stays in the claims")
    func transactions() async throws {
        try await expectUnchangedAccess(TransactionPayload(), \.claims, moreThan: 50) { world, change in
            for index in world.purchases.indices { world.purchases[index].changes = change.map { [$0] } ?? [] }
            return try ScriptedCustomer.signed(world.purchases[2], world.clock)
        }
    }

    @Test("An unknown value of any member of a renewal changes no access, and stays in the claims")
    func renewals() async throws {
        try await expectUnchangedAccess(RenewalPayload(), \.claims, moreThan: 30) { world, change in
            world.subscriptions[0].changes = change.map { [$0] } ?? []
            return try ScriptedCustomer.signed(world.subscriptions[0], world.clock)
        }
    }

    @Test("A signed transaction with an unknown value of any member is never refused")
    func presented() async throws {
        let bridge = try bridge()
        let base = try bridge.appStore.update { try Self.claims(ScriptedCustomer.signed($0.purchases[2], $0.clock)) }
        for change in Self.changes(of: TransactionPayload(), in: base) {
            let signed = try bridge.appStore.update { world in
                var purchase = world.purchases[2]
                purchase.changes = [change]
                return try ScriptedCustomer.signed(purchase, world.clock)
            }
            // Without an environment it is not known which endpoint the transaction belongs to.
            let status = change.key == "environment" ? 21005 : 0
            #expect(await bridge.ask(signed, password: Self.secret).status == status, "\(change)")
        }
    }

    @Test("A status that is not known is stored, shown, and no denial", arguments: [-1, 0, 6, 99])
    func status(status: Int64) async throws {
        let bridge = try bridge()
        let receipt = try bridge.appStore.receipt()
        let expected = Self.access(await bridge.ask(receipt))
        bridge.appStore.change { $0.status = status }
        #expect(Self.access(await bridge.ask(receipt)) == expected)
        let body = JSONValue.object(["receiptData": .string(receipt)]).bytes
        let views = bridge.graph.customerView
        let view = try await JSONValue(reading: views.renderer.render(views.view(body: body)))
        #expect(view["subscriptions"]?.elements?.first?["status"]?.integer == status)
        let notification = try bridge.appStore.notification("DID_RENEW", of: Self.newest)
        #expect(try await bridge.receive(notification) == .stored(isNew: true))
    }
}
