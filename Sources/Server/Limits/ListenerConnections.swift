import ReceiptBridgeCore
import NIOCore
import NIOHTTP1
import Synchronization

/// The open connections of a listener, see ``ConnectionPlaces``.
final class ListenerConnections: Sendable {
    /// A client without an address is connected by a Unix domain socket.
    typealias Places = ConnectionPlaces<AddressRange.Address?>

    private struct State {
        var places: Places
        var channels: [Int: any Channel] = [:]
        var next = 0
        /// Whether ``makeRoom(on:)`` is scheduled.
        var isWaiting = false
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now
    /// Called before a connection has to leave.
    private let onFull: @Sendable () -> Void

    init(_ rules: Places.Rules, onFull: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(places: Places(rules)))
        self.onFull = onFull
    }

    private var time: Duration { start.duration(to: .now) }

    /// Adds a connection until it is closed, and closes the one that has to leave. Returns the handler that reports the
    /// connection's requests, which is placed after the HTTP decoder.
    func add(_ channel: any Channel) -> ListenerConnectionHandler {
        let client = ClientAddress.peer(channel.remoteAddress)
        let (id, leaving) = state.withLock { [time] state in
            state.next += 1
            state.channels[state.next] = channel
            let leaving = state.places.open(state.next, by: client, at: time)
            return (state.next, leaving.flatMap { state.channels[$0] })
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.channels[id] = nil
                state.places.close(id)
            }
        }
        close(leaving)
        waitForRoom(on: channel.eventLoop)
        return ListenerConnectionHandler(
            begin: { isProbe in self.state.withLock { $0.places.begin(id, isProbe: isProbe) } },
            end: { self.state.withLock { [time = self.time] in $0.places.end(id, at: time) } })
    }

    private func close(_ channel: (any Channel)?) {
        guard let channel else { return }
        onFull()
        channel.close(mode: .all, promise: nil)
    }

    /// While all places are taken, no further connection is accepted that would make one leave.
    private func waitForRoom(on loop: any EventLoop) {
        let begins = state.withLock { state in
            guard state.places.isFull, !state.isWaiting else { return false }
            state.isWaiting = true
            return true
        }
        if begins { loop.scheduleTask(in: .milliseconds(100)) { self.makeRoom(on: loop) } }
    }

    private func makeRoom(on loop: any EventLoop) {
        let leaving = state.withLock { [time] state in
            state.isWaiting = false
            return state.places.makeRoom(at: time).flatMap { state.channels[$0] }
        }
        close(leaving)
        waitForRoom(on: loop)
    }
}

/// Reports when a whole request of the connection has arrived, and when its response has ended.
final class ListenerConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private static let probes = ["/healthz", "/readyz"]

    private let begin: (_ isProbe: Bool) -> Bool
    private let end: () -> Void
    private var isProbe = false
    /// The response may end before its request.
    private var isAnswered = false
    private var requests = 0

    fileprivate init(begin: @escaping (_ isProbe: Bool) -> Bool, end: @escaping () -> Void) {
        (self.begin, self.end) = (begin, end)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isAnswered = false
            requests += 1
            isProbe = Self.probes.contains { head.uri == $0 || head.uri.hasPrefix($0 + "?") }
        case .body: break
        case .end:
            guard isAnswered || begin(isProbe) else { return context.close(mode: .all, promise: nil) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        isAnswered = true
        let (answered, sent) = (requests, promise ?? context.eventLoop.makePromise(of: Void.self))
        // A client that reads slowly is not idle.
        sent.futureResult.assumeIsolated().whenComplete { _ in
            if self.requests == answered { self.end() }
        }
        context.write(data, promise: sent)
    }
}
