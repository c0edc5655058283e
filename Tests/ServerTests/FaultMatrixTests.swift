import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
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
        /// Apple's services respond correctly in spite of the fault.
        var isHarmless = false
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
                name: "accepts, says nothing", url: { "http://127.0.0.1:\($0.silentPort)" },
                deadline: .milliseconds(600)),
            Fault(name: "no such name", url: { _ in noName }),
            Fault(name: "truncated", faults: both(.truncate)),
            Fault(name: "200, a web page", faults: both(.html)),
            Fault(name: "200, {}", faults: both(.body("{}"))),
            Fault(name: "200, nothing", faults: both(.body(""))),
            Fault(name: "500", faults: both(.status(500))),
            Fault(name: "503, twice", faults: both(.status(503), times: 2), isHarmless: true),
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
            Fault(name: "our clock 10 min ahead", clock: 600_000, isHarmless: true),
            Fault(name: "our clock 10 min behind", clock: -600_000, isHarmless: true),
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

    /// The simulated services of Apple, each on a host of its own, and hosts that do not respond.
    final class Stage: Sendable {
        let apple: SimulatedStore
        let api: SimulatedStore
        let applePort: Int
        let apiPort: Int
        let silentPort: Int
        private let silent: TestServer

        init() async throws {
            apple = try SharedSimulator.store(customers: 8)
            api = try SharedSimulator.store(customers: 8)
            applePort = try await apple.start()
            apiPort = try await api.start()
            silent = try TestServer(reply: .never)
            silentPort = silent.port
        }

        func set(_ faults: [SimulatedFault]) {
            for store in [apple, api] { store.faults.removeAll() }
            for fault in faults { (fault.endpoint == "verifyReceipt" ? apple : api).faults.add(fault) }
        }

        func end() async {
            await apple.stop()
            await api.stop()
            silent.stop()
        }
    }

    /// A proxy with one order of sources, and its store.
    struct TestProxy: Sendable {
        let order: [AnswerSource]
        let store: SQLiteStore
        var stage: Stage
        let curl: CurlTransport

        func pipeline(
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
            let pipeline = try pipeline(deadline: .seconds(60), curl)
            for body in bodies {
                let reply = await pipeline.answer(body: body, route: .auto)
                #expect(reply.answer.status == .valid, "\(order)")
                if order.contains(.api) {
                    #expect(
                        await eventually {
                            await pipeline.answer(body: body, route: .auto, sources: [.stored]).source == .stored
                        })
                }
            }
            guard order.first == .apple else { return }
            let isKept = await eventually { (try? await store.lastGoodUsage().count) == bodies.count }
            #expect(isKept)
        }
    }

    /// The result of one request.
    struct Cell: Sendable {
        let status: Int
        let source: AnswerSource
        let elapsed: Duration
        let deadline: Duration

        var isLate: Bool { elapsed > deadline + FaultMatrixTests.slack }
    }

    private func staged(_ work: (Stage, CurlTransport, TemporaryFolder) async throws -> Void) async throws {
        let stage = try await Stage()
        let curl = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let result: Result<Void, any Error>
        do {
            result = .success(try await work(stage, curl, TemporaryFolder()))
        } catch {
            result = .failure(error)
        }
        await curl.shutDown()
        await stage.end()
        try result.get()
    }

    /// Receipts of customers with an active subscription, in both environments.
    private func bodies(_ stage: Stage) throws -> [[UInt8]] {
        try [AppStoreEnvironment.production, .sandbox].map { environment in
            let receipt = try #require(
                stage.apple.receipts.first {
                    $0.customer.kind == .activeSubscription && $0.environment == environment
                })
            return Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret)
        }
    }

    // T22
    @Test("No fault makes a valid receipt invalid or a response late; each source is the fallback of the previous one")
    func matrix() async throws {
        try await staged { stage, curl, folder in
            let bodies = try bodies(stage)
            let bridges = try Self.orders.enumerated().map { index, order in
                TestProxy(
                    order: order, store: try SQLiteStore(path: folder.path("\(index).sqlite")), stage: stage, curl: curl
                )
            }
            try await concurrently(bridges) { bridge in try await bridge.learn(bodies) }
            let rows = Rows()
            // The stages have the same customers, so what the proxies learned from one is true of all.
            try await withThrowingTaskGroup(of: Void.self) { lanes in
                for _ in 0..<Self.lanes {
                    lanes.addTask {
                        try await staged { stage, _, _ in
                            let bridges = bridges.map { bridge in
                                var bridge = bridge
                                bridge.stage = stage
                                return bridge
                            }
                            while let (index, fault) = rows.next() {
                                stage.set(fault.faults)
                                rows.set(
                                    index,
                                    [fault.name] + (try await ask(try self.bodies(stage), of: bridges, fault, stage)))
                            }
                        }
                    }
                }
                try await lanes.waitForAll()
            }
            let table = rows.all
            #expect(table.count == Self.faults.count)
            print(Self.text(of: [["fault"] + Self.orders.map { $0.map(\.rawValue).joined(separator: ", ") }] + table))
            for bridge in bridges { await bridge.store.close() }
        }
    }

    /// Number of faults at the same time. Each has simulated services of its own.
    private static let lanes = 8

    /// The rows of the table, one for each fault, in the order of the faults.
    private final class Rows: Sendable {
        private let state = Mutex<(next: Int, rows: [Int: [String]])>((0, [:]))

        var all: [[String]] { state.withLock { $0.rows }.sorted { $0.key < $1.key }.map(\.value) }

        /// Returns the next fault and its index, or `nil` after the last one.
        func next() -> (Int, Fault)? {
            state.withLock { state in
                guard state.next < faults.count else { return nil }
                defer { state.next += 1 }
                return (state.next, faults[state.next])
            }
        }

        func set(_ index: Int, _ row: [String]) { state.withLock { $0.rows[index] = row } }
    }

    /// Sends both receipts to all proxies at once. Returns a text for each order of sources.
    private func ask(
        _ bodies: [[UInt8]], of bridges: [TestProxy], _ fault: Fault, _ stage: Stage
    ) async throws -> [String] {
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, bridge) in bridges.enumerated() {
                group.addTask {
                    let counting = ScriptedAppStore { _ in .received(by: bridge.curl) }
                    let pipeline = try bridge.pipeline(
                        at: fault.url?(stage), clock: 60_000 + fault.clock, deadline: fault.deadline,
                        CircuitBreakingTransport(counting))
                    var cells: [Cell] = []
                    for body in bodies {
                        let began = ContinuousClock.now
                        let reply = await pipeline.answer(body: body, route: .auto)
                        cells.append(
                            Cell(
                                status: reply.answer.status.rawValue, source: reply.source,
                                elapsed: ContinuousClock.now - began, deadline: fault.deadline))
                    }
                    let name = "\(fault.name): \(bridge.order)"
                    // Each receipt has an active subscription and a source that knows it.
                    for cell in cells {
                        #expect(cell.status == 0, "\(name)")
                        #expect(!cell.isLate, "\(name): \(cell.elapsed)")
                    }
                    // For each receipt three requests to verifyReceipt, and six to the Server API, where the sandbox
                    // is looked up as well and the statuses are requested once beside the history.
                    #expect(counting.requests.count <= 18, "\(name)")
                    let sources = Set(cells.map(\.source.rawValue)).sorted().joined(separator: "/")
                    let longest = cells.map(\.elapsed).max() ?? .zero
                    let milliseconds = Int(longest / .milliseconds(1))
                    return (index, "\(cells[0].status) \(sources) \(milliseconds) ms \(counting.requests.count)×")
                }
            }
            var texts = Array(repeating: "", count: bridges.count)
            for try await (index, text) in group { texts[index] = text }
            return texts
        }
    }

    private static func text(of table: [[String]]) -> String {
        let columns = table[0].indices
        let widths = columns.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: " | ")
        }.joined(separator: "\n")
    }

    /// Receipts of forms that this program does not know. The simulated App Store signed them and answers them.
    private func notJudged(_ stage: Stage) throws -> [(name: String, body: [UInt8], namesItsApp: Bool)] {
        let sample = try #require(
            stage.apple.receipts.first { $0.customer.kind == .activeSubscription && $0.environment == .production })
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
            var cells = 0
            for isUp in [true, false] {
                stage.set(
                    isUp ? [] : [SimulatedFault(.status(503)), SimulatedFault(.status(503), endpoint: "serverAPI")])
                let answers = try await answers(to: forms.map(\.body), of: bridges)
                for (bridge, answers) in zip(bridges, answers) {
                    for (row, form) in forms.enumerated() {
                        // A receipt whose bundle id cannot be read belongs to an unknown app: it is forwarded.
                        let sources = form.namesItsApp ? bridge.order : AppConfiguration(bundleId: nil).answer
                        let expected = isUp && sources.contains(.apple) ? 0 : 21005
                        let name = "\(form.name), \(bridge.order), Apple \(isUp ? "up" : "down")"
                        #expect(answers[row] == expected, "\(name)")
                        cells += 1
                    }
                }
            }
            print("\(cells) cells, \(forms.count) forms")
            for bridge in bridges { await bridge.store.close() }
        }
    }

    /// Sends all requests to all proxies at once. Returns the statuses for each proxy, by the index of the request.
    private func answers(to bodies: [[UInt8]], of bridges: [TestProxy]) async throws -> [[Int: Int]] {
        try await withThrowingTaskGroup(of: (Int, Int, Int).self) { group in
            for (column, bridge) in bridges.enumerated() {
                // Long enough for all requests of a busy machine.
                let pipeline = try bridge.pipeline(deadline: .seconds(60), bridge.curl)
                for (row, body) in bodies.enumerated() {
                    group.addTask {
                        (column, row, await pipeline.answer(body: body, route: .auto).answer.status.rawValue)
                    }
                }
            }
            var statuses = Array(repeating: [Int: Int](), count: bridges.count)
            for try await (column, row, status) in group { statuses[column][row] = status }
            return statuses
        }
    }

    // T22
    @Test("Failures of texts that are not authentic, or padded, do not open the circuit breaker for others")
    func strangers() async throws {
        try await staged { stage, curl, folder in
            let bodies = try bodies(stage)
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let bridge = TestProxy(order: [.apple, .receipt], store: store, stage: stage, curl: curl)
            let guarded = CircuitBreakingTransport(curl)
            let pipeline = try bridge.pipeline(deadline: .seconds(5), guarded)
            stage.set([SimulatedFault(.status(503))])
            let padding = #"{"note":""# + String(repeating: "x", count: 40_000) + #"","#
            let padded = Array(padding.utf8) + bodies[0].dropFirst()
            for body in [Array(#"{"receipt-data":"MIIBAAAA"}"#.utf8), padded] {
                // Three attempts each.
                async let other = pipeline.answer(body: body, route: .auto)
                _ = await (pipeline.answer(body: body, route: .auto), other)
            }
            #expect(guarded.states.map(\.state) == [.closed])
            for _ in 0..<2 { _ = await pipeline.answer(body: bodies[0], route: .auto) }
            #expect(guarded.states.map(\.state) == [.open])
            await store.close()
        }
    }

    // T22
    @Test("The circuit breaker of a failing host opens, requests are answered at once, and it closes after recovery")
    func outage() async throws {
        try await staged { stage, curl, folder in
            let bodies = try bodies(stage)
            let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
            let bridge = TestProxy(order: [.apple, .receipt], store: store, stage: stage, curl: curl)
            try await bridge.learn(bodies)
            let counting = ScriptedAppStore { _ in .received(by: curl) }
            let guarded = CircuitBreakingTransport(
                counting,
                policy: .init(probeInterval: .milliseconds(400), minimumTimeout: .milliseconds(100)))
            let pipeline = try bridge.pipeline(deadline: .seconds(5), guarded)
            func ask() async -> AnswerSource {
                let reply = await pipeline.answer(body: bodies[0], route: .auto)
                #expect(reply.answer.status == .valid)
                return reply.source
            }
            stage.set([SimulatedFault(.status(503))])
            let began = ContinuousClock.now
            for _ in 0..<200 { #expect(await ask() == .stored) }
            let took = ContinuousClock.now - began
            // Five failures open the circuit breaker; then there is one probe per pause.
            #expect(
                counting.requests.count <= 5 + Int(took / .milliseconds(200)) + 1,
                "\(counting.requests.count) in \(took)")
            #expect(guarded.states.map(\.state) != [.closed])
            stage.set([])
            #expect(await eventually { await ask() == .apple })
            #expect(guarded.states.map(\.state) == [.closed] && (guarded.states.first?.opened ?? 0) >= 1)
            for _ in 0..<20 { #expect(await ask() == .apple) }
            await store.close()
        }
    }
}
