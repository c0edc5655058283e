import ReceiptBridgeCore
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOSSL
import ReceiptBridgeBase

/// Hummingbird's HTTP/1 channel with additional handlers before and after its decoder: one request at a time,
/// timeouts, backpressure and ``HTTP1SemanticsHandler``.
///
/// The handlers, from the socket to the application:
///
/// 1. ``ConnectionTimeoutHandler`` closes idle connections and connections whose client does not read.
/// 2. TLS and ``HandshakeTimeoutHandler``, see ``ProxyTLSChannel``.
/// 3. ``ClientDisconnectHandler`` reports disconnected clients.
/// 4. ``InboundBackpressureHandler`` holds bytes back while requests wait.
/// 5. ``RequestTimeoutHandler`` closes connections whose requests arrive too slowly.
/// 6. NIO's HTTP decoder.
/// 7. ``RequestPipeliningHandler`` passes on one request at a time.
/// 8. ``HTTP1SemanticsHandler`` rejects invalid requests and decides when the connection is closed.
/// 9. Hummingbird's handlers.
struct HTTP1ProxyChannel: ServerChildChannel {
    /// Size of the kernel's send buffer in bytes. It is small so that a slow client's progress is visible and few
    /// bytes wait for it.
    private static let sendBufferBytes: SocketOptionValue = 131_072
    /// Size of the buffer for one read in bytes. Most requests fit into one. NIO's own buffers grow with the load, and
    /// each connection keeps its own.
    private static let readBufferBytes = 8_192

    let base: HTTP1Channel
    let disconnectMonitor: ClientDisconnectMonitor
    let maximumBodyBytes: Int
    let connectionLimit: ConnectionLimitHandler
    let timeouts: ConnectionTimeouts

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            try? channel.syncOptions?.setOption(.socketOption(.so_sndbuf), value: Self.sendBufferBytes)
            try? channel.syncOptions?.setOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readBufferBytes))
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self).handler
            let backpressure = InboundBackpressureHandler()
            let limits = connectionLimit.live.now.settings.limits
            let timeoutHandler = RequestTimeoutHandler(
                limits: connectionLimit.clients == nil ? limits.forOperations : limits)
            let pipelining = RequestPipeliningHandler(backpressure: backpressure, timeoutHandler: timeoutHandler)
            try pipeline.addHandler(
                ConnectionTimeoutHandler(limits: timeouts, pipelining: pipelining), position: .first)
            try pipeline.addHandlers(
                [ClientDisconnectHandler(disconnectMonitor: disconnectMonitor), backpressure, timeoutHandler],
                position: .before(decoder))
            try pipeline.addHandlers(
                [pipelining, HTTP1SemanticsHandler(maximumBodyBytes: maximumBodyBytes)], position: .after(decoder))
            try pipeline.addHandler(connectionLimit.connections.add(channel), position: .after(pipelining))
            if !connectionLimit.allows(channel) { channel.close(mode: .all, promise: nil) }
            return value
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// TLS below an ``HTTP1ProxyChannel``.
struct ProxyTLSChannel: ServerChildChannel {
    let base: HTTP1ProxyChannel
    /// Returns the certificate that new connections present.
    let certificate: @Sendable () -> ListenerCertificate
    let handshakes: CounterTable

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            let limit = base.connectionLimit.live.now.settings.limits.headSeconds
            try channel.pipeline.syncOperations.addHandlers([
                PlainHTTPHandler(logger: logger), NIOSSLServerHandler(context: certificate().context),
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
