import Hummingbird
import NIOCore
import Pipeline
import Synchronization
import Rendering
import StoreTypes

/// A request's context: Hummingbird's, and the connection it came by, and what its answer was.
struct ProxyRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Shared by all copies of this.
    let outcome = RequestOutcome()

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// What became of a request, for those around the route that answers it.
final class RequestOutcome: Sendable {
    private let verdict = Atomic<Int>(-1)

    /// `status` of verifyReceipt; nil where there was no verdict.
    var status: Int? {
        let status = verdict.load(ordering: .relaxed)
        return status < 0 ? nil : status
    }

    func answered(_ reply: VerifyReceiptResult) { verdict.store(reply.answer.status.rawValue, ordering: .relaxed) }
}
