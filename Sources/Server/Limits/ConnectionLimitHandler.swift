import NIOCore
import Pipeline

/// Which connections may be, by the configuration of now.
struct ConnectionLimitHandler: Sendable {
    let live: ReloadableState
    /// Nil where nobody is counted.
    let clients: ClientRateLimiter?

    func admits(_ channel: any Channel) -> Bool {
        clients?.admits(channel, by: live.now.settings) ?? true
    }
}
