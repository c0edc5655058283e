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
        return OperationsConnectionHandler { isBusy in self.state.withLock { $0.places.setBusy(isBusy, id) } }
    }
}

/// Reports whether a request of the connection is in progress.
final class OperationsConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let setBusy: (Bool) -> Void

    fileprivate init(_ setBusy: @escaping (Bool) -> Void) {
        self.setBusy = setBusy
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) { setBusy(true) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { setBusy(false) }
        context.write(data, promise: promise)
    }
}
