import NIOCore
import ReceiptBridgeCore
import NIOTLS
import ReceiptBridgeBase

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

/// Closes connections whose client begins a request but does not complete it in time.
///
/// It comes before the decoder, where bytes arrive. A request that arrives in one read costs one comparison; only an
/// incomplete request gets a timer. Connections without a request are closed by ``ConnectionTimeoutHandler`` when
/// they are idle.
final class RequestTimeoutHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Progress {
        case none, head, body
    }

    private let head: TimeAmount
    private let whole: TimeAmount
    private var progress = Progress.none
    private var startedAt = NIODeadline.uptimeNanoseconds(0)
    private var timer: Scheduled<Void>?
    /// Received bytes wait for earlier responses. That time is not the client's delay and does not count.
    var isPaused = false { didSet { if oldValue, !isPaused, progress != .none { startedAt = .now() } } }

    init(limits: Limits) {
        head = .seconds(limits.headSeconds)
        whole = .seconds(limits.requestSeconds)
    }

    func headArrived() { progress = .body }

    func requestEnded() { progress = .none }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if progress == .none {
            progress = .head
            startedAt = .now()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if progress != .none, timer == nil { startTimer(context.channel) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    private var deadline: NIODeadline { startedAt + (progress == .head ? head : whole) }

    private func startTimer(_ channel: any Channel) {
        let clock = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = channel.eventLoop.scheduleTask(deadline: deadline) { clock.value.check(channel) }
    }

    /// Starts another timer if the deadline has moved.
    private func check(_ channel: any Channel) {
        timer = nil
        guard progress != .none else { return }
        if isPaused { startedAt = .now() }
        if deadline <= .now() {
            channel.close(mode: .all, promise: nil)
        } else {
            startTimer(channel)
        }
    }
}

extension Limits {
    /// Those of the operations listener, which has few connections: at most 5 s for a head and 10 s for a request.
    var forOperations: Limits {
        var limits = self
        limits.headSeconds = min(headSeconds, 5)
        limits.requestSeconds = min(requestSeconds, 10)
        return limits
    }
}

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
