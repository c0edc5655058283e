import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Faults of the App Store, over real HTTP")
struct FaultMatrixTests {
    /// A fault that affects both of Apple's services.
    struct Fault: Sendable {
        let name: String
        var faults: [SimulatedFault] = []
        /// A URL to use instead of the simulated App Store.
        var url: (@Sendable (Stage) -> String)?
        /// Offset of this machine's clock in milliseconds.
        var clock: Int64 = 0
        /// The deadline of a request.
        var deadline = Duration.seconds(3)
    }

    static let faults: [Fault] = {
        func both(_ kind: SimulatedFault.Kind, times: Int? = nil, milliseconds: Int64 = 0) -> [SimulatedFault] {
            ["verifyReceipt", "serverAPI"].map {
                SimulatedFault(kind, endpoint: $0, times: times, milliseconds: milliseconds)
            }
        }
        func tooMany(_ retryAfter: String) -> [SimulatedFault] {
            [
                SimulatedFault(.status(429)),
                SimulatedFault(.serverAPI(.failure(code: 4_290_000, retryAfter: retryAfter)), endpoint: "serverAPI"),
            ]
        }
        let noon = SharedSimulator.noon.milliseconds
        // A label of more than 63 letters cannot be sent to a name server.
        let noName = "https://\(String(repeating: "a", count: 64)).invalid"
        return [
            Fault(name: "late", faults: both(.delay, milliseconds: 600_000), deadline: .milliseconds(600)),
            Fault(name: "reset", faults: both(.reset)),
            // Not a port that was free a moment ago: another process may get it. Those below 1,024 are not given out.
            Fault(name: "refused", url: { _ in "http://127.0.0.1:9" }),
            Fault(
                name: "accepts, says nothing", url: { "http://127.0.0.1:\($0.silent.port)" },
                deadline: .milliseconds(600)),
            Fault(name: "no such name", url: { _ in noName }),
            Fault(name: "truncated", faults: both(.truncate)),
            Fault(name: "200, a web page", faults: both(.html)),
            Fault(name: "200, {}", faults: both(.body("{}"))),
            Fault(name: "200, nothing", faults: both(.body(""))),
            Fault(name: "500", faults: both(.status(500))),
            Fault(name: "503, twice", faults: both(.status(503), times: 2)),
            Fault(name: "429, until a past time", faults: tooMany("\(noon - 60_000)")),
            Fault(name: "429, until next week", faults: tooMany("\(noon + 604_800_000)")),
            Fault(name: "429, in 5 seconds", faults: tooMany("5")),
            Fault(name: "429, in no words", faults: tooMany("soon")),
            Fault(name: "401 and 403", faults: both(.status(401))),
            Fault(name: "401, once", faults: both(.status(401), times: 1)),
            Fault(name: "verdict 21005", faults: [SimulatedFault(.verdict(21005))]),
            Fault(name: "verdict 21009", faults: [SimulatedFault(.verdict(21009))]),
            Fault(name: "verdict 21002", faults: [SimulatedFault(.verdict(21002))]),
            Fault(name: "verdict 21199", faults: [SimulatedFault(.verdict(21199))]),
            Fault(
                name: "API: no such transaction, for now",
                faults: [
                    SimulatedFault(.status(503)),
                    SimulatedFault(.serverAPI(.failure(code: 4_040_002, retryAfter: nil)), endpoint: "serverAPI"),
                ]),
            Fault(
                name: "API: forged signatures",
                faults: [
                    SimulatedFault(.status(503)), SimulatedFault(.serverAPI(.badSignature), endpoint: "serverAPI"),
                ]),
            Fault(name: "our clock 10 min ahead", clock: 600_000),
            Fault(name: "our clock 10 min behind", clock: -600_000),
        ]
    }()

    static let orders: [[AnswerSource]] = [
        [.apple], [.apple, .receipt], [.apple, .stored, .receipt], [.api, .apple, .receipt], [.api, .stored, .receipt],
        [.stored, .api, .receipt], [.receipt],
    ]

    /// Additional time that a busy machine may need. A response that waits for Apple is later still.
    private static let slack = Duration.seconds(60)

    /// The deadline of a request, of which Apple may use all. The store may be read for a minute after it, because a
    /// busy machine may not read it within the reserve.
    private static func limit(_ deadline: Duration) -> RequestDeadline.Limit {
        RequestDeadline.Limit(deadline, shortestReading: .seconds(60))
    }

    /// The simulated services of Apple, each on a host of its own, and a host that does not respond.
    struct Stage: Sendable {
        let apple: SimulatedStore
        let api: SimulatedStore
        let applePort: Int
        let apiPort: Int
        let silent: TestServer

        func set(_ faults: [SimulatedFault]) {
            for store in [apple, api] { store.faults.removeAll() }
            for fault in faults { (fault.endpoint == "verifyReceipt" ? apple : api).faults.add(fault) }
        }

        /// The bodies of receipts of customers with an active subscription, in both environments.
        var bodies: [[UInt8]] {
            get throws { try [.production, .sandbox].map { try apple.receipt(.activeSubscription, $0).question } }
        }
    }

    /// A proxy with one order of sources, and its store.
    struct TestProxy: Sendable {
        let order: [AnswerSource]
        let store: SQLiteStore
        var stage: Stage
        let curl: CurlTransport

        func service(
            at url: String? = nil, clock: Int64 = 0, deadline: Duration, _ transport: any HTTPTransport
        ) throws -> VerifyReceiptService {
            var app = AppConfiguration(of: stage.api)
            app.appAppleId = SimulatedApp.first.appAppleId
            app.answer = order
            app.cacheSeconds = 0
            // A minute later the store source needs fresh data.
            app.storedMaxAge = order.first == .stored ? 0 : 86_400
            var settings = ProxyConfiguration(
                of: stage.apple, verifyReceipt: url ?? "http://127.0.0.1:\(stage.applePort)",
                serverAPI: url ?? "http://127.0.0.1:\(stage.apiPort)")
            settings.apps = [app]
            return try ServiceGraph(
                settings: settings, transport: transport, store: store, deadline: FaultMatrixTests.limit(deadline),
                tables: .bundled, logger: .silent,
                now: { SharedSimulator.noon.advanced(by: .milliseconds(clock)) }
            ).verifyReceipt
        }

        /// Sends requests without a fault until their results are stored.
        func learn(_ bodies: [[UInt8]]) async throws {
            let service = try service(deadline: .seconds(60), curl)
            for body in bodies {
                let reply = await service.answer(body: body, route: .auto)
                #expect(reply.answer.status == .valid, "\(order)")
                if order.contains(.api) {
                    #expect(
                        await eventually {
                            await service.answer(body: body, route: .auto, sources: [.stored]).source == .stored
                        })
                }
            }
            guard order.first == .apple else { return }
            let isKept = await eventually { (try? await store.lastGoodUsage().count) == bodies.count }
            #expect(isKept)
        }
    }

    private func staged(_ work: (Stage, CurlTransport, TemporaryFolder) async throws -> Void) async throws {
        let (apple, api) = (try SharedSimulator.store(customers: 8), try SharedSimulator.store(customers: 8))
        try await apple.serving { applePort, curl in
            try await api.serving { apiPort in
                let stage = Stage(
                    apple: apple, api: api, applePort: applePort, apiPort: apiPort,
                    silent: try TestServer(reply: .never))
                try await work(stage, curl, TemporaryFolder())
            }
        }
    }

    // T22
    @Test("No fault makes a valid receipt invalid or a response late; each source is the fallback of the previous one")
    func matrix() async throws {
        try await staged { stage, curl, folder in
            let bodies = try stage.bodies
            let bridges = try Self.orders.enumerated().map { index, order in
                TestProxy(
                    order: order, store: try SQLiteStore(path: folder.path("\(index).sqlite")), stage: stage, curl: curl
                )
            }
            try await concurrently(bridges) { bridge in try await bridge.learn(bodies) }
            // The stages have the same customers, so what the proxies learned from one is true of all.
            try await concurrently(0..<Self.lanes) { lane in
                try await staged { stage, _, _ in
                    for fault in Self.faults.enumerated().filter({ $0.offset % Self.lanes == lane }).map(\.element) {
                        stage.set(fault.faults)
                        try await concurrently(bridges) { bridge in
                            var bridge = bridge
                            bridge.stage = stage
                            try await ask(try stage.bodies, of: bridge, fault)
                        }
                    }
                }
            }
            for bridge in bridges { await bridge.store.close() }
        }
    }

    /// Number of faults at the same time. Each has simulated services of its own.
    private static let lanes = 8

    /// Sends both receipts to a proxy.
    private func ask(_ bodies: [[UInt8]], of bridge: TestProxy, _ fault: Fault) async throws {
        let counting = ScriptedAppStore { _ in .received(by: bridge.curl) }
        let service = try bridge.service(
            at: fault.url?(bridge.stage), clock: 60_000 + fault.clock, deadline: fault.deadline,
            CircuitBreakingTransport(counting))
        let name = "\(fault.name): \(bridge.order)"
        for body in bodies {
            let began = ContinuousClock.now
            let reply = await service.answer(body: body, route: .auto)
            let elapsed = ContinuousClock.now - began
            // Each receipt has an active subscription and a source that knows it.
            #expect(reply.answer.status == .valid, "\(name)")
            #expect(elapsed <= fault.deadline + Self.slack, "\(name): \(elapsed)")
        }
        // For each receipt three requests to verifyReceipt, and six to the Server API, where the sandbox is looked up
        // as well and the statuses are requested once beside the history.
        #expect(counting.requests.count <= 18, "\(name)")
    }

    /// Receipts of forms that this program does not know. The simulated App Store signed them and answers them.
    private func notJudged(_ stage: Stage) throws -> [(name: String, body: [UInt8], namesItsApp: Bool)] {
        let sample = try stage.apple.receipt()
        let decoder = try MintedReceipts.decoder()
        return try MintedReceipts.notJudged(by: stage.apple.pki).map { name, _, bytes in
            stage.apple.verifyReceipt.registry.add(
                stage.apple.issuer.issue(sample.plan, for: sample.customer, bytes: bytes))
            let text = MintedReceipts.base64(bytes)
            let body = Question.body(String(decoding: text, as: UTF8.self), password: SimulatedApp.first.sharedSecret)
            return (name, body, decoder.claims(of: text.span).bundleId != nil)
        }
    }

    @Test("A receipt of an unknown form is never denied: Apple answers it, otherwise the outage status does")
    func unknownForms() async throws {
        try await staged { stage, curl, folder in
            let forms = try notJudged(stage)
            let bridges = try (Self.orders + [[.stored, .api, .apple, .receipt]]).enumerated().map { index, order in
                TestProxy(
                    order: order, store: try SQLiteStore(path: folder.path("\(index).sqlite")), stage: stage, curl: curl
                )
            }
            for isUp in [true, false] {
                stage.set(
                    isUp ? [] : [SimulatedFault(.status(503)), SimulatedFault(.status(503), endpoint: "serverAPI")])
                try await concurrently(bridges) { bridge in
                    // Long enough for all requests of a busy machine.
                    let service = try bridge.service(deadline: .seconds(60), bridge.curl)
                    try await concurrently(forms) { form in
                        let status = await service.answer(body: form.body, route: .auto).answer.status.rawValue
                        // A receipt whose bundle id cannot be read belongs to an unknown app: it is forwarded.
                        let sources = form.namesItsApp ? bridge.order : AppConfiguration(bundleId: nil).answer
                        let expected = isUp && sources.contains(.apple) ? 0 : 21005
                        #expect(status == expected, "\(form.name), \(bridge.order), Apple \(isUp ? "up" : "down")")
                    }
                }
            }
            for bridge in bridges { await bridge.store.close() }
        }
    }

    // T22
    @Test("Failures of texts that are not authentic, or padded, do not open the circuit breaker for others")
    func strangers() async throws {
        try await staged { stage, curl, folder in
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let bridge = TestProxy(order: [.apple, .receipt], store: store, stage: stage, curl: curl)
            let bodies = try stage.bodies
            let guarded = CircuitBreakingTransport(curl)
            let service = try bridge.service(deadline: .seconds(5), guarded)
            stage.set([SimulatedFault(.status(503))])
            let padding = #"{"note":""# + String(repeating: "x", count: 40_000) + #"","#
            let padded = Array(padding.utf8) + bodies[0].dropFirst()
            for body in [Array(#"{"receipt-data":"MIIBAAAA"}"#.utf8), padded] {
                // Three attempts each.
                async let other = service.answer(body: body, route: .auto)
                _ = await (service.answer(body: body, route: .auto), other)
            }
            #expect(guarded.states.map(\.state) == [.closed])
            for _ in 0..<2 { _ = await service.answer(body: bodies[0], route: .auto) }
            #expect(guarded.states.map(\.state) == [.open])
            await store.close()
        }
    }
}
