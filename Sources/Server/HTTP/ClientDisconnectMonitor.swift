import NIOCore
import Synchronization

/// Tracks which clients are still connected, so that work for a disconnected client is canceled.
final class ClientDisconnectMonitor: Sendable {
    /// One open connection.
    private struct Client {
        var isGone = false
        /// Cancels the work that is in progress for this client.
        var whenGone: (@Sendable () -> Void)?
    }

    private let clients = Mutex<[ObjectIdentifier: Client]>([:])

    /// Number of open connections.
    var count: Int { clients.withLock { $0.count } }

    func arrived(_ channel: any Channel) {
        clients.withLock { $0[ObjectIdentifier(channel)] = Client() }
    }

    /// Marks the client as disconnected and cancels its work.
    func left(_ channel: any Channel) {
        let action = clients.withLock { clients -> (@Sendable () -> Void)? in
            clients[ObjectIdentifier(channel)]?.isGone = true
            return clients[ObjectIdentifier(channel)]?.whenGone.take()
        }
        action?()
    }

    func remove(_ channel: any Channel) {
        clients.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Starts the work on the current thread if the system can, so that work which never suspends is complete when
    /// this returns. A switch to another thread costs as much as computing a small response.
    private static func begin<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        if #available(macOS 26, *) { Task.immediate(operation: work) } else { Task(operation: work) }
    }

    /// Runs the work and cancels it when the client disconnects. Work for a client that has already disconnected is
    /// canceled at once.
    func serving<Value: Sendable>(
        _ channel: any Channel, _ work: @escaping @Sendable () async -> Value
    ) async -> Value {
        let task = Self.begin(work)
        let isGone = clients.withLock { clients in
            clients[ObjectIdentifier(channel)]?.whenGone = { task.cancel() }
            return clients[ObjectIdentifier(channel)]?.isGone ?? true
        }
        if isGone { task.cancel() }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        clients.withLock { $0[ObjectIdentifier(channel)]?.whenGone = nil }
        return value
    }
}
