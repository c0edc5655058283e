import NIOCore
import Synchronization

/// Tracks which clients are still connected, so that work for a disconnected client is canceled.
final class ClientDisconnectMonitor: Sendable {
    private struct Client {
        var isDisconnected = false
        /// Cancels the work that is in progress for this client.
        var onDisconnect: (@Sendable () -> Void)?
    }

    private let clients = Mutex<[ObjectIdentifier: Client]>([:])

    var count: Int { clients.withLock { $0.count } }

    /// Adds an open connection.
    func connected(_ channel: any Channel) { clients.withLock { $0[ObjectIdentifier(channel)] = Client() } }

    func disconnected(_ channel: any Channel) {
        let action = clients.withLock { clients -> (@Sendable () -> Void)? in
            clients[ObjectIdentifier(channel)]?.isDisconnected = true
            return clients[ObjectIdentifier(channel)]?.onDisconnect.take()
        }
        action?()
    }

    func remove(_ channel: any Channel) {
        clients.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Starts the work on the current thread if the system can, so that work which never suspends is complete when
    /// this returns. A switch to another thread costs as much as computing a small response.
    private static func start<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        if #available(macOS 26, *) { Task.immediate(operation: work) } else { Task(operation: work) }
    }

    /// Runs the work and cancels it when the client disconnects. If the client has already disconnected, the work is
    /// canceled when it suspends for the first time; work that never suspends is not canceled.
    func serving<Value: Sendable>(
        _ channel: any Channel, _ work: @escaping @Sendable () async -> Value
    ) async -> Value {
        let result = WorkResult<Value>()
        let task = Self.start {
            let value = await work()
            result.set(value)
            return value
        }
        if let value = result.value { return value }
        let isDisconnected = clients.withLock { clients in
            clients[ObjectIdentifier(channel)]?.onDisconnect = { task.cancel() }
            return clients[ObjectIdentifier(channel)]?.isDisconnected ?? true
        }
        if isDisconnected { task.cancel() }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        clients.withLock { $0[ObjectIdentifier(channel)]?.onDisconnect = nil }
        return value
    }
}

private final class WorkResult<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }
}

/// Reports to ``ClientDisconnectMonitor`` that a client has connected or disconnected.
///
/// It is the first handler that sees received bytes: a client counts as disconnected as soon as it closes its sending
/// side, even if requests of it still wait. A client that gives up sends the same FIN, and nginx treats it alike. The
/// response is then 21005 and not that of the next source: otherwise a client could close early to get the state in an
/// old receipt instead of Apple's newer one.
final class ClientDisconnectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let disconnectMonitor: ClientDisconnectMonitor

    init(disconnectMonitor: ClientDisconnectMonitor) { self.disconnectMonitor = disconnectMonitor }

    func handlerAdded(context: ChannelHandlerContext) { disconnectMonitor.connected(context.channel) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { disconnectMonitor.disconnected(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        disconnectMonitor.disconnected(context.channel)
        context.fireChannelInactive()
    }

    /// Also called for a connection that was closed before it became active.
    func handlerRemoved(context: ChannelHandlerContext) { disconnectMonitor.remove(context.channel) }
}
