import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// A proxy in front of a ``ScriptedAppStore``. Its clock starts at noon.
struct TestProxy {
    let apple: ScriptedAppStore
    let clock: MovableClock
    let graph: ServiceGraph
    /// Nothing is loaded from a store that is opened later, so requests do not wait for it.
    private let loads: Bool
    var service: VerifyReceiptService { graph.verifyReceipt }

    static let secret = SimulatedApp.first.sharedSecret

    /// Creates a proxy with one configured app, whose rules a test may change. Pauses between retries take no time.
    ///
    /// - Parameters:
    ///   - knowsIntermediates: false leaves out the intermediate certificates of the simulator, so that issuers may
    ///     be unknown.
    ///   - change: changes the settings and the app. Removing the app's bundle id leaves no app configured.
    init(
        _ apple: ScriptedAppStore = ScriptedAppStore(), store: (any Store)? = nil, knowsIntermediates: Bool = true,
        clock: MovableClock = MovableClock(), logger: Logger = .silent,
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in }
    ) throws {
        var settings = ProxyConfiguration(trusting: try SharedSimulator.pki)
        if !knowsIntermediates { settings.intermediates = [] }
        var app = AppConfiguration(bundleId: BundleIdentifier(rawValue: SimulatedApp.first.bundleId))
        app.sharedSecret = SharedSecret(Self.secret)
        change(&settings, &app)
        if app.bundleId != nil { settings.apps.append(app) }
        self.apple = apple
        self.clock = clock
        loads = store?.isOpen ?? false
        graph = try ServiceGraph(
            settings: settings, transport: apple, store: store, tables: .bundled, logger: logger,
            now: { clock.now }, sleep: { _ in })
    }

    /// Sends a receipt, by default without a password.
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
        if loads { await graph.whenLoaded() }
        let reply = await service.answer(body: body, route: route, requestOptions: requestOptions)
        return Reply(
            status: reply.answer.status.rawValue, source: reply.source, environment: reply.environment,
            text: String(decoding: reply.answer.body, as: UTF8.self))
    }

    struct Reply: Sendable {
        let status: Int
        let source: AnswerSource
        let environment: AppStoreEnvironment
        let text: String

        var body: String { text }
        /// Status, source and environment, for example `21003 receipt Production`.
        var short: String { "\(status) \(source) \(environment.rawValue)" }
        var json: JSONValue? { try? JSONValue(reading: Array(text.utf8)) }
    }
}

/// A clock that a test sets.
final class MovableClock: Sendable {
    private let instant: Mutex<Timestamp>

    init(_ start: Timestamp = SharedSimulator.noon) { instant = Mutex(start) }

    var now: Timestamp {
        get { instant.withLock { $0 } }
        set { instant.withLock { $0 = newValue } }
    }
}
