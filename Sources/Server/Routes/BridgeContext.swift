import Hummingbird
import NIOCore

/// A request's context: Hummingbird's, and the connection it came by.
struct BridgeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
