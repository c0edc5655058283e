import NIOCore

/// Reports to ``ClientPresence`` that a client has come or gone.
///
/// Stands where bytes arrive: a client is gone when it closes its sending side, even if requests of it still wait.
final class PresenceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let presence: ClientPresence

    init(presence: ClientPresence) {
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
