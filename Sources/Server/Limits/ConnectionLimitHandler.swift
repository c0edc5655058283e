import NIOCore
import Pipeline

/// Which connections may be, by the configuration of now.
struct ConnectionLimitHandler: Sendable {
    let live: ReloadableState
    /// Nil where nobody is counted.
    let clients: ClientRateLimiter?

    func allows(_ channel: any Channel) -> Bool {
        clients?.allows(channel, by: live.now.settings) ?? true
    }
}
