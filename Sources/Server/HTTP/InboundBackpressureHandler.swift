import NIOCore
import NIOHTTP1

/// Holds received bytes back from the decoder while ``RequestPipeliningHandler`` takes no further request.
///
/// The decoder decodes everything that it is given, and a decoded request takes many times the memory of its bytes.
/// Therefore it gets small pieces, and none while a decoded request waits. While bytes are held back, nothing more is
/// read from the socket.
final class InboundBackpressureHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPServerResponsePart

    /// Bytes that the decoder gets at once.
    private static let pieceBytes = 4_096
    /// What one turn of the event loop reads at most. At the end of its input a connection is read further than that.
    private static let maximumHeldBytes = 262_144

    /// What is known to be missing of the body that is being read; so much is passed on in one piece.
    var bodyBytes = 0
    private var isOpen = true
    private var held = ByteBuffer()
    private var isPassingOn = false
    private var readIsWanted = false
    private var inputIsClosed = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    // MARK: - The queue's side

    func close() { isOpen = false }

    func open() {
        guard !isOpen else { return }
        isOpen = true
        guard held.readableBytes > 0, let context else { return }
        passOn(context)
        channelReadComplete(context: context)
    }

    // MARK: - The socket's side

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if isOpen, held.readableBytes == 0, buffer.readableBytes <= nextPieceBytes {
            context.fireChannelRead(data)
            return
        }
        if held.readableBytes == 0 { held = buffer } else { held.writeBuffer(&buffer) }
        passOn(context)
        if held.readableBytes > Self.maximumHeldBytes { context.channel.close(mode: .all, promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        guard held.readableBytes == 0 else { return }
        if inputIsClosed {
            inputIsClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if readIsWanted {
            readIsWanted = false
            context.read()
        }
    }

    func read(context: ChannelHandlerContext) {
        if held.readableBytes == 0 { context.read() } else { readIsWanted = true }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if held.readableBytes > 0, case .inputClosed = event as? ChannelEvent {
            inputIsClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        held = ByteBuffer()
        context.fireChannelInactive()
    }

    private var nextPieceBytes: Int { max(Self.pieceBytes, bodyBytes) }

    private func passOn(_ context: ChannelHandlerContext) {
        guard !isPassingOn else { return }
        isPassingOn = true
        defer { isPassingOn = false }
        while isOpen, held.readableBytes > 0,
            let piece = held.readSlice(length: min(nextPieceBytes, held.readableBytes))
        {
            context.fireChannelRead(wrapInboundOut(piece))
        }
        if held.readableBytes == 0 { held = ByteBuffer() }
    }
}
