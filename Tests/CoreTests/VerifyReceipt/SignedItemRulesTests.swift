import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Rules of an app for signed transactions")
struct SignedItemRulesTests {
    /// A simulated App Store, a customer of production and one of the sandbox.
    private struct Stage {
        let appStore: SimulatedStore
        let port: Int
        let transport: CurlTransport
        let customers: [SimulatedCustomer]

        func service(_ change: (inout AppConfiguration) -> Void = { _ in }) throws -> VerifyReceiptService {
            try ServerAPIWorld.pipeline(appStore, port: port, transport: transport, answer: [.api], changing: change)
        }

        /// The receipt, the newest signed transaction and the `latest_receipt` of a customer.
        func items(of customer: SimulatedCustomer) async throws -> [String] {
            let receipt = try #require(appStore.receipts(of: customer).first)
            let signed = try #require(try appStore.signedLine(of: customer)?["signedTransaction"]?.text)
            let answer = await (try service()).answer(body: Question.body(signed), route: .auto)
            let latest = try #require(try JSONValue(reading: answer.answer.body)["latest_receipt"]?.text)
            return [receipt.base64, signed, latest]
        }
    }

    private static func staged(_ work: (Stage) async throws -> Void) async throws {
        try await ServerAPIWorld.asking { appStore, port, transport in
            let customers = try [AppStoreEnvironment.production, .sandbox].map { environment in
                try #require(
                    appStore.world.customers.first { $0.kind == .activeSubscription && $0.environment == environment })
            }
            try await work(Stage(appStore: appStore, port: port, transport: transport, customers: customers))
        }
    }

    /// The status of the response to an item, on behalf of a user if one is named.
    private static func status(
        _ service: VerifyReceiptService, _ item: String, _ route: UpstreamRouter.Route = .auto, user: String? = nil
    ) async -> Int {
        var options = VerifyReceiptService.RequestOptions()
        options.user = user.map { Redacted($0) }
        let result = await service.answer(body: Question.body(item), route: route, requestOptions: options)
        return result.answer.status.rawValue
    }

    // T32
    @Test(
        "The sandbox rules have the same verdict for a receipt, a signed transaction and a latest_receipt of one customer"
    )
    func sandbox() async throws {
        try await Self.staged { stage in
            let tester = try #require(stage.customers.last?.transactions.last?.originalTransactionId)
            let rules: [(name: String, status: Int, change: (inout AppConfiguration) -> Void)] = [
                ("allowed", 0, { _ in }), ("denied", 21003, { $0.sandbox = .deny }),
                ("a tester", 0, { $0.testers = SandboxAllowlist([tester]) }),
                ("another tester", 21003, { $0.testers = SandboxAllowlist(["2000000000000777"]) }),
                (
                    "a tester by token", 21003,
                    { $0.testers = SandboxAllowlist(["5f0c1d1e-0000-4000-8000-000000000777"]) }
                ),
            ]
            for customer in stage.customers {
                let items = try await stage.items(of: customer)
                for rule in rules {
                    let service = try stage.service(rule.change)
                    for route in [UpstreamRouter.Route.auto, .only(.production), .only(.sandbox)] {
                        var statuses: [Int] = []
                        for item in items { statuses.append(await Self.status(service, item, route)) }
                        #expect(Set(statuses).count == 1, "\(rule.name) \(customer.environment) \(route): \(statuses)")
                        guard case .auto = route else { continue }
                        #expect(statuses.first == (customer.environment == .sandbox ? rule.status : 0), "\(rule.name)")
                    }
                }
            }
        }
    }

    // T28
    @Test("Replay detection recognizes a purchase that another user presented in any form, and refuses every form")
    func replay() async throws {
        try await Self.staged { stage in
            for customer in stage.customers {
                let items = try await stage.items(of: customer)
                for own in items {
                    let service = try stage.service { $0.replay = .refuse }
                    #expect(await Self.status(service, own, user: "alice") == 0)
                    for (index, copy) in items.enumerated() {
                        #expect(await Self.status(service, copy, user: "mallory") == 21003, "item \(index)")
                        #expect(await Self.status(service, copy, user: "alice") == 0, "item \(index)")
                    }
                }
                let reporting = try stage.service { $0.replay = .report }
                for item in items {
                    #expect(await Self.status(reporting, item, user: "alice") == 0)
                    #expect(await Self.status(reporting, item, user: "mallory") == 0)
                }
            }
        }
    }
}
