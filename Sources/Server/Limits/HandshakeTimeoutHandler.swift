import NIOCore
import NIOTLS
import Telemetry

/// What comes of a TLS handshake, as a label.
enum HandshakeOutcome: Int, MetricLabel {
    case completed
    /// The two have no version or cipher in common, or the client does not trust the certificate, speaks no TLS or left.
    case failed
    /// Ended by ``HandshakeTimeoutHandler``.
    case late
}

/// Ends connections whose TLS handshake takes too long, and counts what comes of each.
///
/// Stands behind the TLS handler. To ``RequestTimeoutHandler``, which stands behind that one, a client in its handshake has sent
/// nothing.
final class HandshakeTimeoutHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private let counts: CounterTable
    /// Nil when the handshake is over.
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - limit: from the connection to the end of its handshake.
    ///   - counts: by ``HandshakeOutcome``.
    init(limit: TimeAmount, counts: CounterTable) {
        self.limit = limit
        self.counts = counts
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let clock = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: limit) {
            clock.value.end(.late)
            channel.close(mode: .all, promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { end(.completed) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failed)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.failed)
        context.fireChannelInactive()
    }

    /// Where the connection was never active, nothing came of its handshake.
    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    private func end(_ outcome: HandshakeOutcome) {
        guard let timer else { return }
        timer.cancel()
        self.timer = nil
        counts.add(outcome.rawValue)
    }
}
