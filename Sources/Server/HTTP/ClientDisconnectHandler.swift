import NIOCore

/// Reports to ``ClientDisconnectMonitor`` that a client has connected or disconnected.
///
/// It is the first handler that sees received bytes: a client counts as disconnected as soon as it closes its sending
/// side, even if requests of it still wait.
final class ClientDisconnectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let disconnectMonitor: ClientDisconnectMonitor

    init(disconnectMonitor: ClientDisconnectMonitor) {
        self.disconnectMonitor = disconnectMonitor
    }

    func handlerAdded(context: ChannelHandlerContext) {
        disconnectMonitor.connected(context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { disconnectMonitor.disconnected(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        disconnectMonitor.disconnected(context.channel)
        context.fireChannelInactive()
    }

    /// Also called for a connection that was closed before it became active.
    func handlerRemoved(context: ChannelHandlerContext) {
        disconnectMonitor.remove(context.channel)
    }
}
