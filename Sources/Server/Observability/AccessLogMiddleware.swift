import HTTPTypes
import Hummingbird
import Logging
import NIOHTTP1

/// The outermost middleware: assigns an id to each request, counts the request and writes the access log.
///
/// A line, at level `info` (`debug` for the routes that monitoring systems poll), contains nothing of the request
/// except its method and route, and nothing of the response except its status, length, source and environment.
struct AccessLogMiddleware: RouterMiddleware {
    typealias Context = ProxyRequestContext

    let counts: HTTPMetrics
    let logger: Logger

    func handle(
        _ request: Request, context: ProxyRequestContext,
        next: (Request, ProxyRequestContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let identifier = RequestIdentifier.of(request)
        return try await RequestIdentifier.$current.withValue(identifier) {
            do {
                var response = try await next(request, context)
                record(request, context, response, after: .now - start)
                response.headers[.requestIdentifier] = identifier
                return response
            } catch {
                record(request, context, Response(status: Self.status(of: error, context)), after: .now - start)
                throw error
            }
        }
    }

    /// A client that disconnects while it sends gets no response; 499 keeps operators from looking for a defect.
    private static func status(of error: any Error, _ context: ProxyRequestContext) -> HTTPResponse.Status {
        switch error {
        case HTTPParserError.invalidEOFState: .clientClosedRequest
        case is HTTPParserError: .badRequest
        default: Task.isCancelled || !context.channel.isActive ? .clientClosedRequest : .internalServerError
        }
    }

    private func record(
        _ request: Request, _ context: ProxyRequestContext, _ response: Response, after duration: Duration
    ) {
        let route = context.endpointPath
        counts.record(route, status: response.status.code, after: duration)
        let level: Logger.Level = Self.polledRoutes.contains(route ?? "") ? .debug : .info
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "method": "\(Self.methods.contains(request.method) ? request.method.rawValue : "other")",
            "route": "\(RouteLabel.all[RouteLabel.index(of: route)])",
            "status": .stringConvertible(response.status.code),
            "milliseconds": .stringConvertible(duration.milliseconds),
        ]
        if let bytes = request.headers[.contentLength].flatMap({ Int($0) }) {
            metadata["bytesIn"] = .stringConvertible(bytes)
        }
        if let bytes = response.body.contentLength { metadata["bytesOut"] = .stringConvertible(bytes) }
        if let status = context.outcome.status {
            metadata["verdict"] = .stringConvertible(status)
            metadata["source"] = "\(response.headers[.receiptBridgeSource] ?? "-")"
            metadata["environment"] = "\(response.headers[.receiptBridgeEnvironment] ?? "-")"
        }
        logger.log(level: level, "request", metadata: metadata)
    }

    private static let polledRoutes: Set<String> = ["/healthz", "/readyz", "/metrics"]
    /// Methods that are logged by name. Others are logged as `other`, because a client can choose any text.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .delete, .patch, .options]
}

extension HTTPResponse.Status {
    /// The status that nginx logs if the client has disconnected before the response.
    static let clientClosedRequest = HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request")
}

extension Duration {
    /// Milliseconds with at most three decimals, for example `12.345`.
    fileprivate var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / 1_000
    }
}
