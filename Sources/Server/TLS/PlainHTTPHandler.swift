import Logging
import NIOCore

/// Answers a client that speaks plain HTTP to the TLS listener with 400 and a sentence, as nginx does. Without it the
/// client sees an empty response.
///
/// It comes before the TLS handler. A TLS connection begins with the byte 22 (RFC 8446, 5.1), an HTTP request with the
/// capital letter of a method. The timeout of the handshake closes the connection if the client does not.
final class PlainHTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    static let sentence = "This port expects HTTPS: the address must begin with https://\n"
    private static let answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(sentence.utf8.count)\r\n"
        + "Connection: close\r\n\r\n\(sentence)"

    private let logger: Logger
    private var isPlain = false

    init(logger: Logger) { self.logger = logger }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isPlain else { return }
        let bytes = unwrapInboundIn(data)
        guard let first = bytes.readableBytesView.first, (0x41...0x5A).contains(first) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            return
        }
        isPlain = true
        logger.info("a client spoke plain HTTP to the TLS listener, and got 400")
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: Self.answer)), promise: nil)
        context.close(mode: .output, promise: nil)
    }
}
