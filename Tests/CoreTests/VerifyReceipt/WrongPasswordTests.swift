import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Wrong password")
struct WrongPasswordTests {
    private static let right = SimulatedApp.first.sharedSecret
    private static let protected = ["latest_receipt", "latest_receipt_info", "pending_renewal_info"]

    /// Values that are not the app's password.
    static let wrong: [JSONValue] = [.string("wrong"), .number(5), .array([])]

    /// A simulated App Store, and a receipt from before its customer's first subscription.
    private struct Stage {
        let appStore: SimulatedStore
        let port: Int
        let transport: CurlTransport
        let store: SQLiteStore
        let receipt: IssuedReceipt

        func pipeline(
            _ answer: [AnswerSource], _ change: (inout AppConfiguration) -> Void = { _ in }
        ) throws -> VerifyReceiptService {
            try ServerAPIWorld.pipeline(
                appStore, port: port, transport: transport, store: answer.contains(.stored) ? store : nil,
                answer: answer, changing: change)
        }

        func ask(_ pipeline: VerifyReceiptService, _ password: JSONValue?) async -> (short: String, body: JSONValue?) {
            let body = Question.body(receipt.base64, ["password": password])
            let reply = await pipeline.answer(body: body, route: .auto)
            return ("\(reply.answer.status.rawValue) \(reply.source)", try? JSONValue(reading: reply.answer.body))
        }
    }

    private func onStage(_ work: (Stage) async throws -> Void) async throws {
        try await ServerAPIWorld.asking { appStore, port, transport in
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let customer = try #require(
                appStore.world.customers.first { $0.kind == .nonConsumable && $0.environment == .production })
            let receipt = try #require(appStore.receipts(of: customer).first)
            try appStore.simulate(EventRequest(.initialBuy, customerId: customer.id), seed: 1)
            try await work(Stage(appStore: appStore, port: port, transport: transport, store: store, receipt: receipt))
            await store.close()
        }
    }

    private static func keys(_ body: JSONValue?) -> [String] {
        guard case .object(let members)? = body else { return [] }
        return members.map(\.key).sorted()
    }

    private static func withoutProtected(_ body: JSONValue?) -> JSONValue? {
        guard case .object(let members)? = body else { return nil }
        return .object(members.filter { !protected.contains($0.key) })
    }

    @Test("A wrong password for a receipt without an auto-renewable keeps the status and omits the protected keys")
    func omitted() async throws {
        try await onStage { stage in
            let (api, receipt, apple) = (
                try stage.pipeline([.api]), try stage.pipeline([.receipt]), try stage.pipeline([.apple])
            )
            let right = await stage.ask(api, .string(Self.right))
            #expect(right.short == "0 api")
            #expect(Self.keys(right.body) == ["environment"] + Self.protected + ["receipt", "status"])
            for password in Self.wrong {
                let reply = await stage.ask(api, password)
                #expect(reply.short == "0 api")
                #expect(reply.body == Self.withoutProtected(right.body))
                #expect(await stage.ask(receipt, password).short == "0 receipt")
                // Apple responds in the same way.
                let theirs = await stage.ask(apple, password)
                #expect(theirs.short == "0 apple")
                #expect(Self.keys(theirs.body) == Self.keys(reply.body))
            }
            // The right password gets everything, whichever requests came before.
            #expect(await stage.ask(api, .string(Self.right)).body == right.body)
        }
    }

    @Test("A wrong password gets no protected data from the store or the cache")
    func remembered() async throws {
        try await onStage { stage in
            let pipeline = try stage.pipeline([.stored, .api])
            let right = await stage.ask(pipeline, .string(Self.right))
            #expect(await eventually { await stage.ask(pipeline, .string(Self.right)).short == "0 stored" })
            // The second response comes from the cache.
            for _ in 0..<3 {
                for password in Self.wrong {
                    let reply = await stage.ask(pipeline, password)
                    #expect(reply.short == "0 stored")
                    #expect(reply.body == Self.withoutProtected(right.body))
                }
                #expect(await stage.ask(pipeline, .string(Self.right)).body == right.body)
            }
        }
    }

    @Test("A wrong password for a receipt with an auto-renewable gives 21004 without a call")
    func refused() async throws {
        try await ServerAPIWorld.asking { appStore, port, transport in
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            for kind in [CustomerKind.activeSubscription, .oldActiveSubscription] {
                let customer = try #require(
                    appStore.world.customers.first { $0.kind == kind && $0.environment == .production })
                let receipt = try #require(appStore.receipts(of: customer).first)
                for sources in [[AnswerSource.api], [.stored, .api], [.receipt], [.api, .apple, .receipt]] {
                    let pipeline = try ServerAPIWorld.pipeline(
                        appStore, port: port, transport: transport, store: store, answer: sources)
                    let reply = await pipeline.answer(
                        body: Question.body(receipt.base64, password: "wrong"), route: .auto)
                    #expect(
                        String(decoding: reply.answer.body, as: UTF8.self)
                            == #"{"environment":"Production","status":21004}"#, "\(kind) \(sources)")
                }
            }
            #expect(appStore.requests.total == 0)
            await store.close()
        }
    }

    @Test("A missing password that is required omits the same keys as a wrong one")
    func missing() async throws {
        try await onStage { stage in
            let required = try stage.pipeline([.api]) { $0.clientPassword = .required }
            let optional = try stage.pipeline([.api])
            let right = await stage.ask(required, .string(Self.right))
            let absent: [JSONValue?] = [nil, .null, .string("")]
            for password in absent {
                let reply = await stage.ask(required, password)
                #expect(reply.short == "0 api")
                #expect(reply.body == Self.withoutProtected(right.body))
            }
            #expect(await stage.ask(optional, nil).body == right.body)
        }
    }
}
