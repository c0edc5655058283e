import NIOCore
import Pipeline

/// Ends connections of those who begin a request and do not get on with it.
///
/// Stands before the decoder, where bytes arrive. A request that is there within one read costs a comparison; only what
/// is incomplete then has a timer. Who begins nothing is idle, which is another limit.
final class RequestTimeoutHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Progress {
        case none, head, body
    }

    private let head: TimeAmount
    private let whole: TimeAmount
    private var progress = Progress.none
    private var begunAt = NIODeadline.uptimeNanoseconds(0)
    private var timer: Scheduled<Void>?
    /// What was received waits for earlier answers, which is not the sender's delay.
    var isPaused = false {
        didSet { if oldValue, !isPaused, progress != .none { begunAt = .now() } }
    }

    init(limits: Limits) {
        head = .seconds(limits.headSeconds)
        whole = .seconds(limits.requestSeconds)
    }

    /// The head is complete.
    func headArrived() { progress = .body }

    /// The request is complete.
    func requestEnded() { progress = .none }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if progress == .none {
            progress = .head
            begunAt = .now()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if progress != .none, timer == nil { watch(context.channel) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    private var deadline: NIODeadline { begunAt + (progress == .head ? head : whole) }

    private func watch(_ channel: any Channel) {
        let clock = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = channel.eventLoop.scheduleTask(deadline: deadline) { clock.value.check(channel) }
    }

    private func check(_ channel: any Channel) {
        timer = nil
        guard progress != .none else { return }
        if isPaused { begunAt = .now() }
        if deadline <= .now() {
            channel.close(mode: .all, promise: nil)
        } else {
            watch(channel)
        }
    }
}
