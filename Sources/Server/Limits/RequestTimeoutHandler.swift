import ReceiptBridgeCore
import NIOCore

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
