import NIOCore
import Pipeline

/// Decides whether a new connection is allowed by the current configuration.
struct ConnectionLimitHandler: Sendable {
    let live: ReloadableState
    /// `nil` if connections are not limited per client.
    let clients: ClientRateLimiter?

    func allows(_ channel: any Channel) -> Bool {
        clients?.allows(channel, by: live.now.settings) ?? true
    }
}
