import ReceiptBridgeBase
import ReceiptBridgeCore
import Hummingbird
import Logging
import NIOCore
import Synchronization
import HTTPTypes

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

/// A rate limiter with one token bucket per client, which holds the requests of one minute.
///
/// A client that has sent nothing for a minute has a full bucket again, and its bucket is removed. If there are too
/// many clients, buckets are removed early. The limiter keeps a single client from using up the server; it is no
/// defense against many.
final class RequestRateLimiter: Sendable {
    /// Buckets of the current minute and of the previous one. Two generations bound the memory without a timer: every
    /// minute the older generation is dropped.
    private struct State {
        var current: [AddressRange.Address: TokenBucket] = [:]
        /// Buckets of the previous minute. A bucket moves to `current` when its client sends another request.
        var previous: [AddressRange.Address: TokenBucket] = [:]
        var startedAt: Duration = .zero
    }

    private static let minute = Duration.seconds(60)
    /// Maximum number of buckets in `current`.
    private static let capacity = 100_000

    private let state = Mutex(State())

    /// Returns `nil` if the request is allowed; otherwise the time until the next token. No token is consumed then.
    ///
    /// - Parameter perMinute: 1 to 1,000,000. It may differ from the one of the last request.
    func consume(_ client: AddressRange.Address, perMinute: Int64, at now: Duration) -> Duration? {
        let rate = TokenBucket.Rate.perMinute(perMinute)
        return state.withLock { state in
            if now - state.startedAt >= Self.minute || state.current.count >= Self.capacity {
                state.previous = now - state.startedAt >= Self.minute * 2 ? [:] : state.current
                state.current = [:]
                state.startedAt = now
            }
            var bucket = state.current[client] ?? state.previous[client] ?? TokenBucket(rate, at: now)
            defer { state.current[client] = bucket }
            return bucket.consume(rate, at: now)
        }
    }
}

/// Determines the IP address of a request's client. It is the peer of the connection or, if the peer is a trusted
/// proxy, the address that the proxy reports.
enum ClientAddress {
    /// Number of `X-Forwarded-For` entries that are read, from the right: more than any chain of proxies has. A client
    /// can send thousands.
    private static let maximumHops = 32
    private static let header = HTTPField.Name("X-Forwarded-For")

    /// Returns the address of the peer, or `nil` for a Unix domain socket.
    static func peer(_ address: SocketAddress?) -> AddressRange.Address? {
        guard let address else { return nil }
        return address.withSockAddr { pointer, size in
            // The address follows family and port, on BSD as on Linux: sin_addr at offset 4, sin6_addr at offset 8.
            let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
            switch address {
            case .v4 where size >= 8:
                return .init(v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            case .v6 where size >= 24: return .init(bytes: UnsafeRawBufferPointer(rebasing: bytes[8..<24]))
            default: return nil
            }
        }
    }

    /// Returns the client's address. Each proxy appends its peer to `X-Forwarded-For`, so the rightmost address that
    /// is not a trusted proxy is the client's. A client can forge the entries before it. For example, with the
    /// trusted proxy 10.0.0.1, `X-Forwarded-For: 192.0.2.9, 203.0.113.7` received from 10.0.0.1 means 203.0.113.7.
    static func of(
        _ request: Request, from peer: SocketAddress?, trusting proxies: [AddressRange]
    ) -> AddressRange.Address? {
        guard let address = Self.peer(peer) else { return nil }
        guard !proxies.isEmpty, proxies.contains(where: { $0.contains(address) }) else { return address }
        var client = address
        let hops = header.map { request.headers[values: $0].flatMap { $0.split(separator: ",") } } ?? []
        for hop in hops.suffix(maximumHops).reversed() {
            guard let parsed = parsed(hop) else { break }
            client = parsed
            guard proxies.contains(where: { $0.contains(parsed) }) else { break }
        }
        return client
    }

    /// Takes the snapshot, because passing `snapshot.settings` would copy the whole configuration for each request.
    static func of(
        _ request: Request, on channel: any Channel, by snapshot: ReloadableState.Snapshot
    ) -> AddressRange.Address? {
        of(request, from: channel.remoteAddress, trusting: snapshot.settings.trustedProxies)
    }

    /// Parses an entry. For example, `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
    private static func parsed(_ hop: Substring) -> AddressRange.Address? {
        var name = hop.drop { $0 == " " || $0 == "\t" }
        while let last = name.last, last == " " || last == "\t" { name = name.dropLast() }
        if name.hasPrefix("[") { return AddressRange.Address(name.dropFirst().prefix { $0 != "]" }) }
        return AddressRange.Address(name) ?? AddressRange.Address(name.prefix { $0 != ":" })
    }
}
