import NIOCore

/// Timeouts of connections that make no progress.
package struct ConnectionTimeouts: Sendable, Hashable {
    /// Timeout if no request is in progress, and nothing is received or sent.
    package var idle = Duration.seconds(60)
    /// Timeout if a request is in progress, and nothing is received or sent. Every response has a shorter deadline of
    /// its own.
    package var answer = Duration.seconds(600)
    /// Timeout if part of a response waits in memory, and the client does not read.
    package var write = Duration.seconds(30)

    package init() {}

    /// Those of the operations listener, which has few connections: 6 and 10 seconds by default.
    var forOperations: ConnectionTimeouts {
        var timeouts = self
        timeouts.idle = idle / 10
        timeouts.write = write / 3
        return timeouts
    }

    /// Time between two checks of a connection. A connection is closed at most this much later than its timeout.
    fileprivate var interval: TimeAmount { TimeAmount(min(idle, answer, write) / 3) }
}

/// Closes connections that are idle, and connections whose client has stopped reading.
///
/// It is next to the socket, below TLS, and only counts bytes. One repeated task per connection compares the counts,
/// so that requests start no timers. Requests that arrive too slowly are closed by ``RequestTimeoutHandler``. With the
/// kernel's send buffer of 128 KiB, about 3 KB per second count as reading. Hummingbird's idle timer does not start
/// again if it fires during a response.
final class ConnectionTimeoutHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private struct Counts {
        var received = 0
        /// Number of bytes that the socket has accepted.
        var sent = 0
        /// Number of bytes that are buffered for the socket.
        var pending = 0
    }

    private let limits: ConnectionTimeouts
    private let pipelining: RequestPipeliningHandler
    private var received = 0
    private var written = 0
    private var last = Counts()
    private var lastActivity = NIODeadline.now()
    /// Last time that the socket accepted bytes or had none to accept.
    private var lastSent = NIODeadline.now()
    private var task: RepeatedTask?

    init(limits: ConnectionTimeouts, pipelining: RequestPipeliningHandler) {
        self.limits = limits
        self.pipelining = pipelining
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

    /// Compares the counts with those of the previous check and closes the connection if it has timed out. Bytes that
    /// the socket has not accepted mean that the client does not read, so only the write timeout applies then.
    private func examine(_ context: ChannelHandlerContext) {
        guard let pending = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes) else { return }
        let now = NIODeadline.now()
        let counts = Counts(received: received, sent: written &- pending, pending: pending)
        if counts.received != last.received || counts.sent != last.sent { lastActivity = now }
        // The write timeout starts when bytes are left over for the first time.
        if pending == 0 || last.pending == 0 || counts.sent != last.sent { lastSent = now }
        last = counts
        if pending > 0 {
            // Closes without the TLS close alert, which the client would not read either.
            if now - lastSent >= TimeAmount(limits.write) { context.close(mode: .all, promise: nil) }
        } else if now - lastActivity >= TimeAmount(pipelining.isResponding ? limits.answer : limits.idle) {
            context.channel.close(mode: .all, promise: nil)
        }
    }
}
