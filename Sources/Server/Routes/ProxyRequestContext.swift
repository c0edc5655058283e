import ReceiptBridgeBase
import Hummingbird
import NIOCore
import ReceiptBridgeResponses
import Synchronization
import ReceiptBridgeCore

/// The context of a request: Hummingbird's context, the connection of the request and the outcome of the request.
struct ProxyRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Shared by all copies of the context.
    let outcome = RequestOutcome()

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// The outcome of a request, which its route reports to the middleware around it.
final class RequestOutcome: Sendable {
    private let verdict = Atomic<Int>(-1)

    /// The `status` of the verifyReceipt response; `nil` for other responses.
    var status: Int? {
        let status = verdict.load(ordering: .relaxed)
        return status < 0 ? nil : status
    }

    func record(_ reply: SourcedAnswer) { verdict.store(reply.answer.status.rawValue, ordering: .relaxed) }
}
