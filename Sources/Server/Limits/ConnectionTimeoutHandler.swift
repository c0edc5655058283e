import NIOCore

/// How long a connection may stay without progress.
package struct ConnectionTimeouts: Sendable, Hashable {
    /// No request is being answered, and nothing is received or sent.
    package var idle = Duration.seconds(60)
    /// A request is being answered, and nothing is received or sent. Every answer has a shorter deadline of its own.
    package var answer = Duration.seconds(600)
    /// Part of an answer waits in memory, and the client reads nothing.
    package var write = Duration.seconds(30)

    package init() {}

    /// How often a connection is examined; it is closed at most that much later than at its limit.
    fileprivate var interval: TimeAmount { TimeAmount(min(idle, answer, write) / 3) }
}

/// Closes connections that are idle, and those whose client stopped reading.
///
/// Stands next to the socket, below TLS, and only counts bytes there. One repeated task per connection compares the
/// counts; no request starts a timer. A request that does not arrive is the concern of ``RequestTimeoutHandler``.
final class ConnectionTimeoutHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The counts at one examination.
    private struct Counts {
        var received = 0
        /// Bytes that the socket has taken.
        var sent = 0
        /// Bytes that it has yet to take.
        var pending = 0
    }

    private let limits: ConnectionTimeouts
    private let queue: RequestPipeliningHandler
    private var received = 0
    private var written = 0
    private var last = Counts()
    private var lastActivity = NIODeadline.now()
    private var lastSent = NIODeadline.now()
    private var task: RepeatedTask?

    init(limits: ConnectionTimeouts, queue: RequestPipeliningHandler) {
        self.limits = limits
        self.queue = queue
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        task = context.eventLoop.scheduleRepeatedTask(initialDelay: limits.interval, delay: limits.interval) { _ in
            bound.value.handler.examine(bound.value.context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        task?.cancel()
        task = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received &+= unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written &+= unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    private func examine(_ context: ChannelHandlerContext) {
        guard let pending = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes) else { return }
        let now = NIODeadline.now()
        let counts = Counts(received: received, sent: written &- pending, pending: pending)
        if counts.received != last.received || counts.sent != last.sent { lastActivity = now }
        if pending == 0 || last.pending == 0 || counts.sent != last.sent { lastSent = now }
        last = counts
        if pending > 0 {
            // Without the end of TLS, which the client would not read either.
            if now - lastSent >= TimeAmount(limits.write) { context.close(mode: .all, promise: nil) }
        } else if now - lastActivity >= TimeAmount(queue.isAnswering ? limits.answer : limits.idle) {
            context.channel.close(mode: .all, promise: nil)
        }
    }
}
