import ReceiptBridgeBase
import ReceiptBridgeCore
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// The limits on one client, as a metric label. Each is named after its key below `limits`.
enum ClientLimit: MetricLabel {
    case requestsPerMinute, connectionsPerClient
}

/// The rate limiter and connection limiter for clients, so that one client cannot use up what all clients share. Its
/// state is kept when the configuration is reloaded.
final class ClientRateLimiter: Sendable {
    let rejections = CounterTable(ClientLimit.texts)
    private let connections = ConnectionCounter()
    private let rates = RequestRateLimiter()
    /// Rate limit of one client for version 1 notifications, in requests per minute. The App Store sends from few
    /// addresses, so the limit is high: a busy app receives some hundred notifications per minute.
    private static let version1PerMinute: Int64 = 1_200
    private let version1Rates = RequestRateLimiter()
    private let logThrottle = LogThrottle<ClientLimit>()
    private let start = ContinuousClock.now
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// The value of `Retry-After` in seconds if the client's rate limit is exceeded.
    func wait(_ request: Request, on channel: any Channel, by snapshot: ReloadableState.Snapshot) -> String? {
        guard let perMinute = snapshot.settings.limits.requestsPerMinute,
            let client = ClientAddress.of(request, on: channel, by: snapshot)
        else { return nil }
        let now = ContinuousClock.now - start
        guard let wait = rates.consume(client.network, perMinute: perMinute, at: now) else { return nil }
        recordRejection(
            .requestsPerMinute, "client exceeded the rate limit limits.requestsPerMinute; requests rejected",
            at: now)
        return Self.retryAfter(wait)
    }

    /// The same for a version 1 notification. Everyone who knows a shared secret can send them, and each adds a row to
    /// the store. Version 2 notifications are signed and are not limited.
    func version1Wait(_ request: Request, on channel: any Channel, by snapshot: ReloadableState.Snapshot) -> String? {
        guard let client = ClientAddress.of(request, on: channel, by: snapshot) else { return nil }
        return version1Rates.consume(
            client.network, perMinute: Self.version1PerMinute, at: ContinuousClock.now - start
        ).map(Self.retryAfter)
    }

    /// Rounds up to whole seconds, at least 1.
    private static func retryAfter(_ wait: Duration) -> String {
        String(max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))
    }

    /// Returns whether the client may open one more connection. If so, the connection is counted until it is closed.
    func allows(_ channel: any Channel, by settings: ProxyConfiguration) -> Bool {
        guard let limit = settings.limits.connectionsPerClient else { return true }
        if connections.acquire(channel, atMost: Int(limit), except: settings.trustedProxies) { return true }
        recordRejection(
            .connectionsPerClient, "client exceeded limits.connectionsPerClient; connection closed",
            at: ContinuousClock.now - start)
        return false
    }

    /// Counts the rejection and logs it, at most once a minute for each limit.
    private func recordRejection(_ limit: ClientLimit, _ message: Logger.Message, at now: Duration) {
        rejections.add(limit)
        guard logThrottle.allows(limit, at: now) else { return }
        logger.warning(message, metadata: ["count": .stringConvertible(rejections.count(limit))])
    }
}

final class ConnectionCounter: Sendable {
    private let counts = Mutex<[AddressRange.Address: Int]>([:])

    /// Counts the connection until it is closed. Returns `false` if its client already has `limit` open connections.
    /// Those of the trusted proxies are not limited.
    func acquire(_ channel: any Channel, atMost limit: Int, except proxies: [AddressRange]) -> Bool {
        guard let client = ClientAddress.peer(channel.remoteAddress),
            !proxies.contains(where: { $0.contains(client) })
        else { return true }
        let network = client.network
        let isAdmitted = counts.withLock { counts in
            guard counts[network, default: 0] < limit else { return false }
            counts[network, default: 0] += 1
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { _ in self.release(network) }
        return true
    }

    private func release(_ network: AddressRange.Address) {
        counts.withLock { counts in
            let left = counts[network, default: 1] - 1
            counts[network] = left > 0 ? left : nil
        }
    }
}

/// Decides whether a new connection is allowed by the current configuration, and which one leaves for it.
struct ConnectionLimitHandler: Sendable {
    let live: ReloadableState
    /// `nil` for the operations listener, whose clients are not limited.
    let clients: ClientRateLimiter?
    let connections: ListenerConnections

    func allows(_ channel: any Channel) -> Bool { clients?.allows(channel, by: live.now.settings) ?? true }
}
