package import ReceiptBridgeBase
package import ReceiptBridgeSimulator
package import ReceiptBridgeTransport
import Synchronization

/// The App Store, or the targets of forwarded notifications, without a socket: each request is recorded, and a script
/// responds to it.
package final class ScriptedAppStore: HTTPTransport {
    /// A request as it was sent.
    package struct Request: Sendable {
        package let url: String
        package let headers: HTTPHeaders
        package let body: [UInt8]
        /// The number of requests before it.
        package let index: Int
        /// The number of requests before it to the same path.
        package let round: Int

        package var environment: AppStoreEnvironment { url.contains("/sandbox/") ? .sandbox : .production }
        package var text: String { String(decoding: body, as: UTF8.self) }
        package var json: JSONValue? { try? JSONValue(reading: body) }
        fileprivate var path: Substring { url.prefix { $0 != "?" } }
    }

    /// The response to a request. A number is an HTTP status.
    package enum Reply: Sendable, ExpressibleByIntegerLiteral {
        /// The response of the simulated verifyReceipt.
        case simulated
        /// An empty HTTP response.
        case http(Int)
        /// HTTP 200 with a body that holds only this status.
        case status(Int)
        /// HTTP 200 with this body.
        case body(String)
        /// An HTTP response with this body.
        case json(JSONValue, http: Int = 200)
        /// No HTTP response: the transport throws this error.
        case failure(TransportError.Code)
        /// The response that another transport receives.
        case received(by: any HTTPTransport)

        package init(integerLiteral status: Int) { self = .http(status) }
    }

    package typealias Script = @Sendable (Request) async -> Reply

    private let sent = Mutex<[Request]>([])
    private let script: Mutex<Script>

    package init(_ script: @escaping Script = { _ in .simulated }) { self.script = Mutex(script) }

    /// An outage: every request gets HTTP 503.
    package static var isDown: ScriptedAppStore { ScriptedAppStore { _ in 503 } }

    package var requests: [Request] { sent.withLock { $0 } }

    package func requests(to url: String) -> [Request] { requests.filter { $0.url == url } }

    /// Replaces the script.
    package func answer(_ script: @escaping Script) { self.script.withLock { $0 = script } }

    package func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let recorded = sent.withLock { sent in
            let path = request.url.text.prefix { $0 != "?" }
            let recorded = Request(
                url: request.url.text, headers: request.headers, body: request.body, index: sent.count,
                round: sent.count { $0.path == path })
            sent.append(recorded)
            return recorded
        }
        let script = script.withLock { $0 }
        switch await script(recorded) {
        case .simulated:
            guard
                let answer = try? SharedSimulator.world.verifyReceipt.answer(
                    body: request.body, at: recorded.environment == .sandbox ? .sandbox : .production)
            else { throw TransportError(.internalFault, at: "simulator", "no response") }
            return HTTPResponse(status: 200, body: answer.bytes)
        case .http(let status): return HTTPResponse(status: status)
        case .status(let status): return HTTPResponse(status: 200, body: Array("{\"status\":\(status)}".utf8))
        case .body(let text): return HTTPResponse(status: 200, body: Array(text.utf8))
        case .json(let value, let status): return HTTPResponse(status: status, body: value.bytes)
        case .failure(let code): throw TransportError(code, at: request.url.host, "a failure chosen by the test")
        case .received(let transport): return try await transport.send(request)
        }
    }

    package func shutDown(grace: Duration) async {}
}
