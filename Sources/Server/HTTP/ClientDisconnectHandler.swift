import NIOCore

/// Reports to ``ClientDisconnectMonitor`` that a client has come or gone.
///
/// Stands where bytes arrive: a client is gone when it closes its sending side, even if requests of it still wait.
final class ClientDisconnectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let presence: ClientDisconnectMonitor

    init(presence: ClientDisconnectMonitor) {
        self.presence = presence
    }

    func handlerAdded(context: ChannelHandlerContext) {
        presence.arrived(context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { presence.left(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        presence.left(context.channel)
        context.fireChannelInactive()
    }

    /// Called as well for a connection that was closed before it was active.
    func handlerRemoved(context: ChannelHandlerContext) {
        presence.forget(context.channel)
    }
}
