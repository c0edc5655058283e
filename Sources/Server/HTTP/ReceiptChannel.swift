import HummingbirdCore
import ListenerTLS
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOSSL
import Pipeline
import Telemetry

/// Hummingbird's HTTP/1 connection with ``ConnectionManners`` between the decoder and the rest, and TLS below all of it
/// where the listener has a certificate.
struct ReceiptChannel: ServerChildChannel {
    let base: HTTP1Channel
    let presence: ClientPresence
    let maximumBodyBytes: Int
    let gate: ConnectionGate
    /// Presented by connections from now on; nil where no TLS is spoken.
    let certificate: @Sendable () -> ListenerCertificate?
    /// By ``HandshakeOutcome``.
    let handshakes: CounterTable

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            try addTLS(to: channel)
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
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

    private func addTLS(to channel: any Channel) throws {
        guard let certificate = certificate() else { return }
        let limit = gate.live.now.settings.limits.headSeconds
        try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: certificate.context),
            HandshakeClock(limit: .seconds(limit), counts: handshakes),
        ])
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
