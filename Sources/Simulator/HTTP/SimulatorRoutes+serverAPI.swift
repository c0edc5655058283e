import Base
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes of the Server API: all paths below `/production/inApps/` and `/sandbox/inApps/`.
extension SimulatorRoutes {
    /// Responds to a request to the Server API, with the first matching fault if there is one.
    func serverAPIResponse(
        to request: Request, in environment: AppStoreEnvironment, _ context: SimulatorContext
    ) async throws -> Response {
        let body = Array(try await request.body.collect(upTo: 1_048_576).readableBytesView)
        let call = APIRequest(
            request.method.rawValue, target: request.uri.string, authorization: request.headers[.authorization],
            body: body, environment: environment)
        guard let call else { return Response(status: .notFound) }
        let endpoint = APIEndpoint.matching(method: call.method, path: call.path)?.endpoint
        requests.add(
            .init(
                method: call.method, path: request.uri.path,
                endpoint: "\(endpoint?.rawValue ?? "unknown").\(environment.rawValue.lowercased())",
                contentType: request.headers[.contentType], contentLength: body.count, body: body))
        let fault = endpoint.flatMap {
            faults.consume(endpoint: $0.rawValue, group: "serverAPI", environment: environment)
        }
        if let fault, fault.milliseconds > 0 { try await Task.sleep(for: .milliseconds(fault.milliseconds)) }
        switch fault?.kind {
        case nil, .delay?, .verdict?: return Self.response(try serverAPI.answer(call))
        case .serverAPI(let kind)?: return Self.response(try serverAPI.answer(call, fault: kind))
        case .truncate?:
            let answer = try serverAPI.answer(call).body ?? .object([])
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
}
