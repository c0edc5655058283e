import Ledger
import Logging
import Pipeline
import Rendering
import Simulator
import StoreTypes
import Synchronization
import TestSupport
import Transport

/// Apple's two endpoints without a socket: returns the responses of the simulated App Store, or those that a test
/// chooses.
final class FakeApple: HTTPTransport {
    /// A request as it was sent.
    struct Question: Sendable {
        let environment: AppStoreEnvironment
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        var json: JSONValue? { try? JSONValue(reading: body) }
    }

    /// A reply that replaces the simulated one.
    enum Instead: Sendable {
        case status(Int)
        case http(Int)
        case body(String)
        case failure(TransportError.Code)
    }

    private let sent = Mutex<[Question]>([])
    private let instead: @Sendable (AppStoreEnvironment, Int) -> Instead?

    /// - Parameter instead: the reply to a request, by its environment and its index from 0; `nil` for the simulated
    ///   response.
    init(instead: @escaping @Sendable (AppStoreEnvironment, Int) -> Instead? = { _, _ in nil }) {
        self.instead = instead
    }

    static let isDown = { @Sendable (_: AppStoreEnvironment, _: Int) -> Instead? in .http(503) }

    var questions: [Question] { sent.withLock { $0 } }
    var environments: [AppStoreEnvironment] { questions.map(\.environment) }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let isSandbox = request.url.text.contains("/sandbox/")
        let environment: AppStoreEnvironment = isSandbox ? .sandbox : .production
        let index = sent.withLock { sent in
            sent.append(Question(environment: environment, body: request.body))
            return sent.count - 1
        }
        switch instead(environment, index) {
        case nil:
            guard
                let answer = try? SharedSimulator.world.verifyReceipt.answer(
                    body: request.body, at: isSandbox ? .sandbox : .production)
            else { throw TransportError(.internalFault, at: "simulator", "no response") }
            return HTTPResponse(status: 200, body: answer.bytes)
        case .status(let status): return HTTPResponse(status: 200, body: Array("{\"status\":\(status)}".utf8))
        case .http(let status): return HTTPResponse(status: status)
        case .body(let text): return HTTPResponse(status: 200, body: Array(text.utf8))
        case .failure(let code): throw TransportError(code, at: "apple", "a failure chosen by the test")
        }
    }

    func shutDown(grace: Duration) async {}
}

/// A proxy in front of a ``FakeApple``. Its clock starts at noon.
struct TestProxy {
    let apple: FakeApple
    let clock: MovableClock
    let pipelines: ServiceGraph
    var pipeline: VerifyReceiptService { pipelines.verifyReceipt }

    static let secret = SimulatedApp.first.sharedSecret

    init(
        _ apple: FakeApple = FakeApple(), store: Store? = nil, knowsIntermediates: Bool = true,
        now: Timestamp = SharedSimulator.noon, logger: Logger? = nil,
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in }
    ) throws {
        let pki = try SharedSimulator.pki
        var settings = ProxyConfiguration()
        settings.trustedRoots = pki.roots.map(\.certificate)
        if knowsIntermediates { settings.intermediates = pki.intermediates.map(\.certificate) }
        settings.verifyReceipt.production = "http://127.0.0.1:9/production/verifyReceipt"
        settings.verifyReceipt.sandbox = "http://127.0.0.1:9/sandbox/verifyReceipt"
        var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: SimulatedApp.first.bundleId))
        app.sharedSecret = SharedSecret(Self.secret)
        change(&settings, &app)
        if app.bundleId != nil { settings.apps.append(app) }
        self.apple = apple
        let clock = MovableClock(now)
        self.clock = clock
        pipelines = try ServiceGraph(
            settings: settings, transport: apple, store: store, tables: .bundled, logger: logger ?? .silent,
            now: { clock.now }, sleep: { _ in })
    }

    func ask(
        _ receipt: String, password: String? = nil, route: UpstreamRouter.Route = .auto,
        _ further: KeyValuePairs<String, JSONValue?> = [:]
    ) async -> Reply {
        await ask(Array(Question.body(receipt, password: password, further)), route: route)
    }

    /// - Parameter user: the caller's name for its user.
    func ask(_ body: [UInt8], route: UpstreamRouter.Route = .auto, user: String? = nil) async -> Reply {
        var requestOptions = VerifyReceiptService.RequestOptions()
        requestOptions.user = user.map { Redacted($0) }
        let reply = await pipeline.answer(body: body, route: route, requestOptions: requestOptions)
        return Reply(
            status: reply.answer.status.rawValue, source: reply.source, environment: reply.environment,
            text: String(decoding: reply.answer.body, as: UTF8.self))
    }

    struct Reply: Sendable {
        let status: Int
        let source: AnswerSource
        let environment: AppStoreEnvironment
        let text: String

        /// Status, source and environment, for example `21003 receipt Production`.
        var short: String { "\(status) \(source) \(environment.rawValue)" }
        var json: JSONValue? { try? JSONValue(reading: Array(text.utf8)) }
    }
}
