import Hummingbird
import Logging
import NIOCore
import Pipeline
import Synchronization
import Telemetry

/// What a client can have too much of, by the names of the keys below `limits`.
enum ClientLimit: Int, MetricLabel {
    case requestsPerMinute, connectionsPerClient
}

/// Keeps one client from taking what all need. It goes on when the configuration is read again.
final class ClientRateLimiter: Sendable {
    /// By ``ClientLimit``.
    let rejections = CounterTable("limit", ClientLimit.self)
    private let connections = ConnectionCounter()
    private let rates = RequestRateLimiter()
    /// Of version 1 notifications alone. The App Store sends from few addresses, so there is room for many of them: a
    /// busy app gets some hundred a minute.
    private static let version1PerMinute: Int64 = 1_200
    private let version1Rates = RequestRateLimiter()
    private let lastLines = Mutex<[ClientLimit: Duration]>([:])
    private let start = ContinuousClock.now
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// How many seconds a client has to wait, in words of `Retry-After`; nil where it need not.
    func wait(_ request: Request, from peer: SocketAddress?, by settings: ProxyConfiguration) -> String? {
        guard let perMinute = settings.limits.requestsPerMinute,
            let client = ClientAddress.of(request, from: peer, trusting: settings.trustedProxies)
        else { return nil }
        let now = ContinuousClock.now - start
        guard let wait = rates.consume(client.network, perMinute: perMinute, at: now) else { return nil }
        recordRejection(.requestsPerMinute, "a client sends more than limits.requestsPerMinute", at: now)
        return Self.retryAfter(wait)
    }

    /// Counts a version 1 notification; how many seconds its sender has to wait, `nil` if it is not one too many.
    ///
    /// Anyone with a shared secret can send them, and each adds a row to the store. Version 2 is signed and not counted.
    func version1Wait(_ request: Request, from peer: SocketAddress?, by settings: ProxyConfiguration) -> String? {
        guard let client = ClientAddress.of(request, from: peer, trusting: settings.trustedProxies) else { return nil }
        return version1Rates.consume(
            client.network, perMinute: Self.version1PerMinute, at: ContinuousClock.now - start
        ).map(Self.retryAfter)
    }

    private static func retryAfter(_ wait: Duration) -> String {
        String(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))
    }

    /// Whether one more connection may be; then it counts until it is closed.
    func allows(_ channel: any Channel, by settings: ProxyConfiguration) -> Bool {
        guard let limit = settings.limits.connectionsPerClient else { return true }
        if connections.acquire(channel, atMost: Int(limit), except: settings.trustedProxies) { return true }
        recordRejection(
            .connectionsPerClient, "a client opens more than limits.connectionsPerClient",
            at: ContinuousClock.now - start)
        return false
    }

    /// Counts, and says so once a minute.
    private func recordRejection(_ limit: ClientLimit, _ message: Logger.Message, at now: Duration) {
        rejections.add(limit.rawValue)
        let isSaid = lastLines.withLock { lastLines in
            if let last = lastLines[limit], now - last < .seconds(60) { return true }
            lastLines[limit] = now
            return false
        }
        guard !isSaid else { return }
        logger.warning(message, metadata: ["count": "\(rejections.count(limit.rawValue))"])
    }
}
