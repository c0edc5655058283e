import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Hummingbird's HTTP/1 connection with ``ConnectionManners`` between the decoder and the rest.
struct ReceiptChannel: ServerChildChannel {
    let base: HTTP1Channel
    let presence: ClientPresence
    let maximumBodyBytes: Int

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self).handler
            let manners = ConnectionManners(maximumBodyBytes: maximumBodyBytes, presence: presence)
            try pipeline.addHandler(manners, position: .after(decoder))
            return value
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
