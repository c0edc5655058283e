import BridgeConfiguration
import NIOCore
import NIOHTTP1
import Synchronization

/// The open connections of the operations listener, see ``ConnectionPlaces``.
final class OperationsConnections: Sendable {
    private struct State {
        /// A client without an address is connected by a Unix domain socket.
        var places: ConnectionPlaces<AddressRange.Address?>
        var channels: [Int: any Channel] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    init(atMost limit: Int) {
        state = Mutex(State(places: ConnectionPlaces(limit: limit)))
    }

    /// Adds a connection until it is closed, and closes the one that has to leave.
    ///
    /// - Returns: The handler that reports the connection's requests. It is placed after the HTTP decoder.
    func add(_ channel: any Channel) -> OperationsConnectionHandler {
        let client = ClientAddress.peer(channel.remoteAddress)
        let (id, closed) = state.withLock { state in
            state.next += 1
            state.channels[state.next] = channel
            let closed = state.places.open(state.next, by: client)
            return (state.next, closed.flatMap { state.channels[$0] })
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.channels[id] = nil
                state.places.close(id)
            }
        }
        closed?.close(mode: .all, promise: nil)
        return OperationsConnectionHandler(
            begin: { isProbe in self.state.withLock { $0.places.begin(id, isProbe: isProbe) } },
            end: { self.state.withLock { $0.places.end(id) } })
    }
}

/// Reports when a whole request of the connection has arrived, and when its response has ended.
final class OperationsConnectionHandler: ChannelDuplexHandler {
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

    fileprivate init(begin: @escaping (_ isProbe: Bool) -> Bool, end: @escaping () -> Void) {
        (self.begin, self.end) = (begin, end)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isAnswered = false
            isProbe = Self.probes.contains { head.uri == $0 || head.uri.hasPrefix($0 + "?") }
        case .body: break
        case .end:
            guard isAnswered || begin(isProbe) else { return context.close(mode: .all, promise: nil) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            isAnswered = true
            end()
        }
        context.write(data, promise: promise)
    }
}
