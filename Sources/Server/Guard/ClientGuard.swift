import Hummingbird
import Logging
import NIOCore
import Pipeline
import Synchronization

/// Keeps one client from taking what all need. It goes on when the configuration is read again.
final class ClientGuard: Sendable {
    private struct Turned {
        var count: Int64 = 0
        var lastLine: Duration?
    }

    let connections = OpenConnections()
    private let rates = RequestRates()
    private let turned = Mutex(Turned())
    private let start = ContinuousClock.now
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// How many seconds a client has to wait, in words of `Retry-After`; nil where it need not.
    func wait(_ request: Request, from peer: SocketAddress?, by settings: Settings) -> String? {
        guard let perMinute = settings.limits.requestsPerMinute,
            let client = ClientAddress.of(request, from: peer, trusting: settings.trustedProxies)
        else { return nil }
        let now = ContinuousClock.now - start
        guard let wait = rates.take(client.network, perMinute: perMinute, at: now) else { return nil }
        say(at: now)
        return String(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))
    }

    /// Once a minute.
    private func say(at now: Duration) {
        let count = turned.withLock { turned -> Int64? in
            turned.count += 1
            if let last = turned.lastLine, now - last < .seconds(60) { return nil }
            turned.lastLine = now
            return turned.count
        }
        guard let count else { return }
        logger.warning("a client sends more than limits.requestsPerMinute", metadata: ["count": "\(count)"])
    }
}
