import NIOCore
import Pipeline

/// Which connections may be, by the configuration of now.
struct ConnectionGate: Sendable {
    let live: LiveParts
    /// Nil where nobody is counted.
    let clients: ClientGuard?

    func admits(_ channel: any Channel) -> Bool {
        let settings = live.now.settings
        guard let clients, let limit = settings.limits.connectionsPerClient else { return true }
        return clients.connections.admit(channel, atMost: Int(limit), except: settings.trustedProxies)
    }
}
