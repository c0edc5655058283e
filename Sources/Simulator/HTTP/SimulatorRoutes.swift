import ReceiptBridgeBase
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

struct SimulatorRoutes: Sendable {
    let store: SimulatedStore

    /// Maximum size of a request body in bytes. Apple's endpoint responds with 413 above it.
    static let maximumBodySize = 3_145_728

    func router() -> Router<SimulatorContext> {
        let router = Router(context: SimulatorContext.self)
        router.get("healthz") { _, _ in "ok\n" }
        addVerifyReceipt(router, "verifyReceipt") { Self.endpoint(forHost: $0.head.authority) }
        addVerifyReceipt(router, "WebObjects/MZFinance.woa/wa/verifyReceipt") {
            Self.endpoint(forHost: $0.head.authority)
        }
        addVerifyReceipt(router, "production/verifyReceipt") { _ in .production }
        addVerifyReceipt(router, "sandbox/verifyReceipt") { _ in .sandbox }
        for method in [HTTPRequest.Method.get, .post, .put] {
            router.on("production/inApps/**", method: method) {
                try await serverAPIResponse(to: $0, in: .production, $1)
            }
            router.on("sandbox/inApps/**", method: method) { try await serverAPIResponse(to: $0, in: .sandbox, $1) }
        }
        addControls(router)
        return router
    }

    private func addControls(_ router: Router<SimulatorContext>) {
        router.post("faults") { request, _ in try await addFault(request) }
        router.delete("faults") { _, _ in
            store.faults.removeAll()
            store.serverAPI.limiter.reset()
            return HTTPResponse.Status.noContent
        }
        router.get("requests") { _, _ in
            Self.json(store.requests.document(rateLimited: store.serverAPI.limiter.refused))
        }
        router.delete("requests") { _, _ in
            store.requests.removeAll()
            return HTTPResponse.Status.noContent
        }
        router.get("customers/{id}") { _, context in
            guard let id = context.parameters.get("id"), let customer = store.serverAPI.customerRegistry.customer(id)
            else { throw HTTPError(.notFound, message: "no such customer") }
            return Self.json(try store.signedDocument(of: customer))
        }
        router.post("events") { request, _ in try await simulateEvents(request) }
        router.get("notifications/deliveries") { _, _ in Self.json(store.outbox.counts.document) }
        router.get("notifications/targets") { _, _ in Self.json(store.outbox.targets.document) }
        router.post("notifications/targets") { request, _ in try await setTarget(request) }
        router.delete("notifications/targets") { _, _ in
            store.outbox.targets.removeAll()
            return HTTPResponse.Status.noContent
        }
    }

    private func addVerifyReceipt(
        _ router: Router<SimulatorContext>, _ path: String,
        _ endpoint: @escaping @Sendable (Request) -> SimulatedVerifyReceipt.Endpoint
    ) {
        router.post(RouterPath(path)) { request, context in
            try await verifyReceiptResponse(to: request, at: endpoint(request), context)
        }
        // Methods other than POST get HTTP 200 with status 21000.
        router.get(RouterPath(path)) { _, _ in Self.json(SimulatedVerifyReceipt.statusOnly(21000)) }
        router.put(RouterPath(path)) { _, _ in Self.json(SimulatedVerifyReceipt.statusOnly(21000)) }
    }

    /// Returns the endpoint of a host name, for example production for `buy.itunes.apple.com`.
    static func endpoint(forHost host: String?) -> SimulatedVerifyReceipt.Endpoint {
        let host = host?.lowercased() ?? ""
        if host.hasPrefix("sandbox.") { return .sandbox }
        return host.hasPrefix("buy.") || host.hasPrefix("production.") ? .production : .automatic
    }

    private func verifyReceiptResponse(
        to request: Request, at endpoint: SimulatedVerifyReceipt.Endpoint, _ context: SimulatorContext
    ) async throws -> Response {
        let body = try await request.body.collect(upTo: Self.maximumBodySize)
        let bytes = Array(body.readableBytesView)
        store.requests.add(
            .init(
                request, endpoint: "verifyReceipt.\(endpoint)",
                contentLength: request.headers[.contentLength].flatMap { Int($0) }, body: bytes))
        let fault = try await fault(at: "verifyReceipt", in: endpoint == .sandbox ? .sandbox : .production)
        return try await Self.response(to: fault?.kind, context) {
            try store.verifyReceipt.answer(body: bytes, at: endpoint)
        }
    }

    /// Returns the fault for a request, after its delay. An unknown endpoint has none.
    private func fault(
        at endpoint: String?, group: String? = nil, in environment: AppStoreEnvironment
    ) async throws -> SimulatedFault? {
        guard let endpoint else { return nil }
        let fault = store.faults.consume(endpoint: endpoint, group: group, environment: environment)
        if let fault, fault.milliseconds > 0 { try await Task.sleep(for: .milliseconds(fault.milliseconds)) }
        return fault
    }

    private func serverAPIResponse(
        to request: Request, in environment: AppStoreEnvironment, _ context: SimulatorContext
    ) async throws -> Response {
        let body = Array(try await request.body.collect(upTo: 1_048_576).readableBytesView)
        let call = APIRequest(
            request.method.rawValue, target: request.uri.string, authorization: request.headers[.authorization],
            body: body, environment: environment)
        guard let call else { return Response(status: .notFound) }
        let name = APIEndpoint.matching(method: call.method, path: call.path)?.endpoint.rawValue
        store.requests.add(
            .init(
                request, endpoint: "\(name ?? "unknown").\(environment.rawValue.lowercased())",
                contentLength: body.count, body: body))
        let fault = try await fault(at: name, group: "serverAPI", in: environment)
        switch fault?.kind {
        case nil, .delay?, .verdict?: return Self.response(try store.serverAPI.answer(call))
        case .serverAPI(let kind)?: return Self.response(try store.serverAPI.answer(call, fault: kind))
        case .truncate?:
            let answer = try store.serverAPI.answer(call).body ?? .object([])
            return try await Self.response(to: .truncate, context) { answer }
        case let kind?: return try await Self.response(to: kind, context) { .object([]) }
        }
    }

    private static func response(_ answer: APIAnswer) -> Response {
        let status = HTTPResponse.Status(code: answer.status)
        var response = Response(status: status)
        if let body = answer.body { response = respond(status, "application/json", body.bytes) }
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        return response
    }

    private func addFault(_ request: Request) async throws -> Response {
        let document = try await document(of: request)
        if let document, store.serverAPI.limiter.set(document) { return Response(status: .created) }
        guard let fault = document.flatMap({ SimulatedFault($0) }) else {
            throw HTTPError(.badRequest, message: "invalid fault: unknown member, wrong type, or value out of range")
        }
        store.faults.add(fault)
        return Response(status: .created)
    }
}

extension SimulatorRoutes {
    static func json(_ value: JSONValue) -> Response {
        respond(.ok, "application/json; charset=UTF-8", value.bytes)
    }

    static func respond(_ status: HTTPResponse.Status, _ type: String, _ bytes: [UInt8]) -> Response {
        Response(status: status, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Responds as the fault requires; `answer` gives the response without the fault.
    static func response(
        to fault: SimulatedFault.Kind?, _ context: SimulatorContext, answer: () throws -> JSONValue
    ) async throws -> Response {
        switch fault {
        case .status(let code): return Response(status: .init(code: min(max(code, 200), 599)))
        case .html:
            let page = "<html><head><title>Maintenance</title></head><body>We'll be back.</body></html>"
            return respond(.ok, "text/html", Array(page.utf8))
        case .body(let text): return respond(.ok, "application/json", Array(text.utf8))
        case nil, .delay, .serverAPI: return json(try answer())
        case .verdict(let status): return json(SimulatedVerifyReceipt.statusOnly(status))
        case .reset:
            await context.abort()
            throw ConnectionAborted()
        case .truncate:
            let bytes = try answer().bytes
            let half = ByteBuffer(bytes: bytes.prefix(bytes.count / 2))
            let body = ResponseBody(contentLength: bytes.count) { writer in
                try await writer.write(half)
                try? await context.channel.close(mode: .all).get()
                throw ConnectionAborted()
            }
            return Response(status: .ok, headers: [.contentType: "application/json"], body: body)
        }
    }
}

/// The context of a request with its connection, because some faults close the connection.
struct SimulatorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Closes the connection immediately, with a TCP reset if the system supports it.
    func abort() async {
        if let options = channel as? any SocketOptionProvider {
            // C's `struct linger`: enabled, with a timeout of 0. The type itself is in a module that NIO does not
            // export.
            let linger: (Int32, Int32) = (1, 0)
            try? await options.unsafeSetSocketOption(level: .socket, name: .so_linger, value: linger).get()
        }
        try? await channel.close(mode: .all).get()
    }
}

/// The connection was closed, so no response is sent.
struct ConnectionAborted: Error {}

extension SimulatorRoutes {
    /// Handles `POST /events`. Responds with `{"events": [...]}`, each element as in ``EventOutcome/document``.
    private func simulateEvents(_ request: Request) async throws -> Response {
        guard let eventsRequest = try await document(of: request).flatMap(EventsRequest.init) else {
            let names = WorldEvent.allCases.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.badRequest, message: "the body needs count, or event with one of: \(names)")
        }
        var outcomes: [EventOutcome]
        switch eventsRequest.kind {
        case .many(let count):
            outcomes = store.events.make(count, seed: eventsRequest.seed, in: eventsRequest.environment)
        case .one(let event):
            do {
                outcomes = [try store.events.make(event, seed: eventsRequest.seed)]
            } catch .unknown {
                throw HTTPError(.notFound, message: "no such customer or transaction")
            } catch .impossible {
                throw HTTPError(.conflict, message: "\(event.event.rawValue) is not possible in the current state")
            }
        }
        if eventsRequest.isSilent { outcomes = outcomes.map(\.silent) }
        store.outbox.post(outcomes, eventsRequest.options)
        return Self.json(JSONValue(["events": outcomes.map(\.document)]))
    }

    /// Handles `POST /notifications/targets`: `{"url": "http://127.0.0.1:9000/x", "version": 1 | 2, "environment":
    /// "production" | "sandbox", "timeout": 30}`. The timeout is in seconds, 1 to 600.
    private func setTarget(_ request: Request) async throws -> Response {
        let document = try await document(of: request)
        guard var target = document?["url"]?.text.flatMap(NotificationTarget.init) else {
            throw HTTPError(.badRequest, message: "url must be an http:// URL of this machine")
        }
        guard let version = NotificationTarget.Version(rawValue: document?["version"]?.integer ?? 2) else {
            throw HTTPError(.badRequest, message: "version must be 1 or 2")
        }
        guard let environment = document?.environment else {
            throw HTTPError(.badRequest, message: "environment must be production or sandbox")
        }
        let seconds = min(max(document?["timeout"]?.integer ?? 30, 1), 600)
        target.version = version
        target.timeout = .seconds(seconds)
        store.outbox.targets.set(target, for: environment)
        return Response(status: .created)
    }

    private func document(of request: Request) async throws -> JSONValue? {
        let body = try await request.body.collect(upTo: 65_536)
        return try? JSONValue(reading: Array(body.readableBytesView))
    }
}
