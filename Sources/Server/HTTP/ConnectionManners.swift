import NIOCore
import NIOHTTP1

/// What a connection owes to HTTP beyond one request after the other, where the versions are still to be seen:
///
/// - `Expect: 100-continue` gets its `100`, or at once a 413 when the announced body is too long (RFC 9110, 10.1.1);
/// - a connection is closed behind an answer that says so, and behind one to an HTTP/1.0 client that did not ask to
///   keep it;
/// - a client that goes away is told to ``ClientPresence``.
final class ConnectionManners: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let maximumBodyBytes: Int
    private let presence: ClientPresence
    private var closesBehindAnswer = false
    /// After an answer given here, the rest of the connection is nobody's.
    private var isDeaf = false

    init(maximumBodyBytes: Int, presence: ClientPresence) {
        self.maximumBodyBytes = maximumBodyBytes
        self.presence = presence
    }

    func handlerAdded(context: ChannelHandlerContext) {
        presence.arrived(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeaf else { return }
        if case .head(let head) = unwrapInboundIn(data) {
            closesBehindAnswer = !head.isKeepAlive
            if head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" }) {
                guard announcedLength(of: head) <= maximumBodyBytes else { return refuse(head, context: context) }
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
            }
        }
        context.fireChannelRead(data)
    }

    private func announcedLength(of head: HTTPRequestHead) -> Int {
        head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    }

    private func refuse(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        isDeaf = true
        let problem = Problem.bodyTooLarge.json
        let headers: HTTPHeaders = [
            "content-type": Problem.contentType, "content-length": "\(problem.count)", "connection": "close",
        ]
        context.write(
            wrapOutboundOut(
                .head(HTTPResponseHead(version: head.version, status: .payloadTooLarge, headers: headers))),
            promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: problem)))), promise: nil)
        closesBehindAnswer = true
        finish(context: context, end: .end(nil), promise: nil)
        context.flush()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "close" }) {
                closesBehindAnswer = true
            }
            context.write(data, promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end(let trailers):
            finish(context: context, end: .end(trailers), promise: promise)
        }
    }

    private func finish(
        context: ChannelHandlerContext, end: HTTPServerResponsePart, promise: EventLoopPromise<Void>?
    ) {
        guard closesBehindAnswer else { return context.write(wrapOutboundOut(end), promise: promise) }
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.whenComplete { _ in channel.close(mode: .all, promise: nil) }
        context.write(wrapOutboundOut(end), promise: written)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { presence.left(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        presence.left(context.channel)
        presence.forget(context.channel)
        context.fireChannelInactive()
    }
}
