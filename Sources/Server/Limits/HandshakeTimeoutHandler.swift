import NIOCore
import NIOTLS
import ReceiptBridgeBase

enum HandshakeOutcome: MetricLabel {
    case completed
    /// Client and server have no version or cipher in common, or the client does not trust the certificate, speaks no
    /// TLS or disconnected.
    case failed
    /// Timed out; the connection was closed by ``HandshakeTimeoutHandler``.
    case late
}

/// Closes connections whose TLS handshake takes too long, and counts the outcomes of handshakes.
///
/// It comes after the TLS handler. ``RequestTimeoutHandler`` comes later still and sees no bytes before the handshake
/// is complete.
final class HandshakeTimeoutHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private let counts: CounterTable
    /// `nil` once the handshake has ended.
    private var timer: Scheduled<Void>?

    /// - Parameter limit: from the start of the connection to the end of its handshake.
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

    /// If the connection was never active, the handshake is not counted.
    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    /// Counts the outcome once and cancels the timer.
    private func end(_ outcome: HandshakeOutcome) {
        guard let timer else { return }
        timer.cancel()
        self.timer = nil
        counts.add(outcome)
    }
}
