import NIOCore
import NIOHTTP1

/// Holds received bytes back from the HTTP decoder while ``RequestPipeliningHandler`` accepts no further request.
///
/// The decoder decodes everything that it receives, and a decoded request needs many times the memory of its bytes.
/// Therefore the decoder gets small pieces, and no piece while a decoded request waits. While bytes are held back,
/// nothing more is read from the socket.
final class InboundBackpressureHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPServerResponsePart

    /// Size in bytes of the pieces that the decoder gets.
    private static let pieceBytes = 4_096
    /// Maximum number of bytes held back; a connection that exceeds it is closed. One turn of the event loop reads at
    /// most this much. Only at the end of its input can a connection be read further.
    private static let maximumBufferedBytes = 262_144

    /// Number of bytes of the current body that have not arrived yet, from its `Content-Length`. A piece of the body
    /// may be this long, because a body needs no more memory when decoded.
    var remainingBodyBytes = 0
    private var isOpen = true
    private var buffered = ByteBuffer()
    private var isPassingOn = false
    private var hasPendingRead = false
    private var inputIsClosed = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: - The queue's side

    func close() { isOpen = false }

    func open() {
        guard !isOpen else { return }
        isOpen = true
        guard buffered.readableBytes > 0, let context else { return }
        passOn(context)
        channelReadComplete(context: context)
    }

    // MARK: - The socket's side

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if isOpen, buffered.readableBytes == 0, buffer.readableBytes <= nextPieceBytes {
            context.fireChannelRead(data)
            return
        }
        if buffered.readableBytes == 0 { buffered = buffer } else { buffered.writeBuffer(&buffer) }
        passOn(context)
        if buffered.readableBytes > Self.maximumBufferedBytes { context.channel.close(mode: .all, promise: nil) }
    }

    /// Delays the end of the input and further reads until the buffered bytes have been passed on.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        guard buffered.readableBytes == 0 else { return }
        if inputIsClosed {
            inputIsClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if hasPendingRead {
            hasPendingRead = false
            context.read()
        }
    }

    func read(context: ChannelHandlerContext) {
        if buffered.readableBytes == 0 { context.read() } else { hasPendingRead = true }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if buffered.readableBytes > 0, case .inputClosed = event as? ChannelEvent {
            inputIsClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// The client is disconnected, so the buffered bytes are discarded.
    func channelInactive(context: ChannelHandlerContext) {
        buffered = ByteBuffer()
        context.fireChannelInactive()
    }

    /// A body may be passed on in one piece, because it needs no more memory when decoded.
    private var nextPieceBytes: Int { max(Self.pieceBytes, remainingBodyBytes) }

    /// Passes held bytes to the decoder, piece by piece, until none are left or the handler is closed.
    private func passOn(_ context: ChannelHandlerContext) {
        guard !isPassingOn else { return }
        isPassingOn = true
        defer { isPassingOn = false }
        while isOpen, buffered.readableBytes > 0,
            let piece = buffered.readSlice(length: min(nextPieceBytes, buffered.readableBytes))
        {
            context.fireChannelRead(wrapInboundOut(piece))
        }
        if buffered.readableBytes == 0 { buffered = ByteBuffer() }
    }
}
