import NIOCore
import Pipeline

/// Which connections may be, by the configuration of now.
struct ConnectionGate: Sendable {
    let live: LiveParts
    /// Nil where nobody is counted.
    let clients: ClientGuard?

    func admits(_ channel: any Channel) -> Bool {
        clients?.admits(channel, by: live.now.settings) ?? true
    }
}
