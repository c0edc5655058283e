import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Synchronization
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

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
        /// HTTP 200 with a body that holds only this status.
        case status(Int)
        /// An empty HTTP response.
        case http(Int)
        /// HTTP 200 with this body.
        case body(String)
        /// No HTTP response: the transport throws this error.
        case failure(TransportError.Code)
    }

    private let sent = Mutex<[Question]>([])
    private let instead: @Sendable (AppStoreEnvironment, Int) -> Instead?

    /// - Parameter instead: the reply to a request, by its environment and its index from 0; `nil` for the simulated
    ///   response.
    init(instead: @escaping @Sendable (AppStoreEnvironment, Int) -> Instead? = { _, _ in nil }) {
        self.instead = instead
    }

    /// An outage: every request gets HTTP 503.
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
