import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Pipeline

/// Hummingbird's HTTP/1 connection with ``ConnectionManners`` between the decoder and the rest.
struct ReceiptChannel: ServerChildChannel {
    let base: HTTP1Channel
    let presence: ClientPresence
    let maximumBodyBytes: Int
    let gate: ConnectionGate

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self).handler
            let clock = RequestClock(limits: gate.live.now.settings.limits)
            let manners = ConnectionManners(maximumBodyBytes: maximumBodyBytes, presence: presence, clock: clock)
            try pipeline.addHandler(clock, position: .before(decoder))
            try pipeline.addHandler(manners, position: .after(decoder))
            if !gate.admits(channel) { channel.close(mode: .all, promise: nil) }
            return value
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
