import HummingbirdCore
import ListenerTLS
import Logging
import NIOCore
import NIOHTTPTypes
import NIOSSL
import Pipeline
import Telemetry

/// TLS below an ``HTTP1ProxyChannel``.
struct ProxyTLSChannel: ServerChildChannel {
    let base: HTTP1ProxyChannel
    /// Returns the certificate that new connections present.
    let certificate: @Sendable () -> ListenerCertificate
    /// Counts of handshakes, by ``HandshakeOutcome``.
    let handshakes: CounterTable

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            let limit = base.connectionLimit.live.now.settings.limits.headSeconds
            try channel.pipeline.syncOperations.addHandlers([
                NIOSSLServerHandler(context: certificate().context),
                HandshakeTimeoutHandler(limit: .seconds(limit), counts: handshakes),
            ])
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
