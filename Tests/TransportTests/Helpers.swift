import ReceiptBridgeHTTPTestServer
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// Runs the body with a new server and transport, and shuts both down.
func withServer(
    _ answer: @escaping @Sendable (TestServer.Request) -> Reply,
    configuration: CurlConfiguration = CurlConfiguration(version: "0-test"),
    _ body: (TestServer, CurlTransport) async throws -> Void
) async throws {
    let server = try TestServer(answer)
    let transport = try CurlTransport(configuration)
    try await finally({ await transport.shutDown() }) { try await body(server, transport) }
}

typealias Outcome = Result<HTTPResponse, TransportError>

extension HTTPTransport {
    func outcome(of request: HTTPRequest) async -> Outcome {
        do throws(TransportError) {
            return .success(try await send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the error of the request, or `nil` if it succeeds.
    func failure(of request: HTTPRequest) async -> TransportError? { await outcome(of: request).failure }
}

extension Outcome {
    var body: [UInt8]? { try? get().body }

    var failure: TransportError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
