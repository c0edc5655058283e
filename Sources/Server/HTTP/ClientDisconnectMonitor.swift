import NIOCore
import Synchronization

/// Which clients are still there, so that nobody works for one that went away.
final class ClientDisconnectMonitor: Sendable {
    private struct Client {
        var isGone = false
        var whenGone: (@Sendable () -> Void)?
    }

    private let clients = Mutex<[ObjectIdentifier: Client]>([:])

    /// Open connections.
    var count: Int { clients.withLock { $0.count } }

    func arrived(_ channel: any Channel) {
        clients.withLock { $0[ObjectIdentifier(channel)] = Client() }
    }

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

    /// Work that asks nobody is done when this returns: a task that begins elsewhere costs as much as a small answer.
    private static func begin<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        if #available(macOS 26, *) { Task.immediate(operation: work) } else { Task(operation: work) }
    }

    /// Runs the work, and cancels it when the client goes away.
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
