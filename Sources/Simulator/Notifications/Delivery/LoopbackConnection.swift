import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection to a receiver of notifications, which sends one request at a time.
///
/// It does not use the project's own HTTP client, because the simulator must not share code with what it tests.
struct LoopbackConnection: Sendable {
    private let channel: any Channel
    let url: LoopbackURL

    static func open(to url: LoopbackURL) async throws -> LoopbackConnection {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(LoopbackExchange())
                }
            }
        return LoopbackConnection(channel: try await bootstrap.connect(host: url.host, port: url.port).get(), url: url)
    }

    /// Posts JSON. Returns the status, and whether the connection can be reused. Throws ``LoopbackError/timedOut``
    /// after `timeout`.
    func post(_ body: [UInt8], to url: LoopbackURL, timeout: Duration) async throws -> LoopbackReply {
        let responsePromise = channel.eventLoop.makePromise(of: LoopbackReply.self)
        let timer = channel.eventLoop.scheduleTask(in: .init(timeout)) { responsePromise.fail(LoopbackError.timedOut) }
        let request = LoopbackRequest(url: url, body: ByteBuffer(bytes: body), responsePromise: responsePromise)
        channel.writeAndFlush(request).whenFailure { responsePromise.fail($0) }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await responsePromise.futureResult.get()
        } onCancel: {
            close()
        }
    }

    func close() { channel.close(promise: nil) }
}

/// The response to a request, as far as the sender needs it.
struct LoopbackReply: Sendable, Hashable {
    let status: Int
    let keepsAlive: Bool
}

/// A request with the promise of its response.
struct LoopbackRequest: Sendable {
    let url: LoopbackURL
    let body: ByteBuffer
    let responsePromise: EventLoopPromise<LoopbackReply>
}

/// Errors of a request whose connection was established.
enum LoopbackError: Error {
    case timedOut, closed
}

/// Writes requests and completes their promises with the responses.
private final class LoopbackExchange: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = Never
    typealias OutboundIn = LoopbackRequest
    typealias OutboundOut = HTTPClientRequestPart

    private var responsePromise: EventLoopPromise<LoopbackReply>?
    private var reply: LoopbackReply?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let request = unwrapOutboundIn(data)
        responsePromise = request.responsePromise
        reply = nil
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: request.url.path)
        head.headers = [
            "Host": request.url.authority, "Content-Type": "application/json; charset=UTF-8",
            "Content-Length": String(request.body.readableBytes), "User-Agent": "App-Store/1.0",
        ]
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(request.body))), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        // A 1xx response is not final.
        case .head(let head) where head.status.code >= 200:
            reply = LoopbackReply(status: Int(head.status.code), keepsAlive: head.isKeepAlive)
        case .end:
            guard let reply else { return }
            responsePromise?.succeed(reply)
            responsePromise = nil
        case .head, .body: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        responsePromise?.fail(error)
        responsePromise = nil
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        responsePromise?.fail(LoopbackError.closed)
        responsePromise = nil
        context.fireChannelInactive()
    }
}
