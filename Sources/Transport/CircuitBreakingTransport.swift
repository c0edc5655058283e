import ReceiptBridgeBase
import Synchronization

/// A transport with a circuit breaker and a retry budget for each host.
///
/// If a host keeps failing, requests to it fail at once, so that callers can use their next source without losing
/// time. One request at a time tests as a probe whether the host has recovered; it fails after the interval of probes,
/// while its exchange goes on. A host that is slow but responds is not failing. Retries are limited. A host is a
/// scheme, name and port. All clients of a process share one instance.
package final class CircuitBreakingTransport: HTTPTransport {
    /// The state of one host, for metrics and the status page.
    package struct HostState: Sendable, Hashable {
        /// Example: `https://buy.itunes.apple.com:443`.
        package let host: String
        package let state: CircuitBreaker.State
        /// The number of times the breaker opened since the process started.
        package let opened: Int64
        /// The number of requests rejected because the breaker was open.
        package let refused: Int64
        /// The number of retries rejected because the retry budget was used up.
        package let rejectedRetries: Int64
        /// Requests in flight, including those that wait for a connection.
        package let inFlight: Int
    }

    private struct Origin: Hashable {
        let isSecure: Bool
        let name: String
        let port: Int

        init(_ url: HTTPURL) { (isSecure, name, port) = (url.isSecure, url.host, url.port) }
    }

    private struct Host {
        var breaker: CircuitBreaker
        var retryBudget = RetryBudget()
        var inFlight = 0
        var refused: Int64 = 0
        var rejectedRetries: Int64 = 0
    }

    private let transport: any HTTPTransport
    private let policy: CircuitBreaker.Policy
    private let now: @Sendable () -> ContinuousClock.Instant
    private let whenChanged: @Sendable (HostState) -> Void
    /// Bounded by the number of hosts in the configuration.
    private let hosts = Mutex<[Origin: Host]>([:])

    /// `whenChanged` is called after a host's circuit breaker has opened or closed. `now` measures the pauses.
    package init(
        _ transport: any HTTPTransport, policy: CircuitBreaker.Policy = .init(),
        whenChanged: @escaping @Sendable (HostState) -> Void = { _ in },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (self.transport, self.policy, self.now, self.whenChanged) = (transport, policy, now, whenChanged)
    }

    /// Throws `circuitOpen` or `tooManyRepetitions` at once if the host's limits reject the request. A status of 500 or
    /// above, or a response for which ``HTTPRequest/isUsable`` is false, is returned and counts as a failure.
    package func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let origin = Origin(request.url)
        let ticket = try allow(request, to: origin)
        guard ticket.isProbe else { return try await exchange(request, ticket, with: origin).get() }
        let probe = Task { await exchange(request, ticket, with: origin) }
        if let result = await TaskTimeout.value(of: probe, within: policy.probeInterval) { return try result.get() }
        update(origin) { $0.breaker.stopAwaiting(ticket) }
        throw TransportError(
            .timedOut, at: request.url.host, "circuit breaker half-open; no response to the probe in time")
    }

    private func exchange(
        _ request: HTTPRequest, _ ticket: CircuitBreaker.Ticket, with origin: Origin
    ) async -> Result<HTTPResponse, TransportError> {
        do throws(TransportError) {
            let response = try await transport.send(request)
            let isHealthy = response.status < 500 && request.isUsable(response)
            complete(ticket, isHealthy ? .success : .failure, at: origin)
            return .success(response)
        } catch {
            complete(ticket, outcome(of: error), at: origin)
            return .failure(error)
        }
    }

    package func shutDown(grace: Duration) async { await transport.shutDown(grace: grace) }

    /// The state of every host contacted so far, sorted by name.
    package var states: [HostState] {
        hosts.withLock { hosts in hosts.map { Self.state(of: $0.value, at: $0.key) } }.sorted { $0.host < $1.host }
    }

    // MARK: - Before and after an exchange

    /// Requests permission for one exchange.
    private func allow(_ request: HTTPRequest, to origin: Origin) throws(TransportError) -> CircuitBreaker.Ticket {
        let now = now()
        return try update(origin) { Self.allow(request, to: &$0, now) }.get()
    }

    /// Changes a host, and reports that its breaker has opened or closed after the lock is released.
    private func update<Result: Sendable>(_ origin: Origin, _ body: (inout Host) -> Result) -> Result {
        let (result, change) = hosts.withLock { hosts in
            // Modified in place because every request passes here; the dictionary has few entries.
            let wasClosed = hosts[origin].map { $0.breaker.state == .closed } ?? true
            let result = body(&hosts[origin, default: Host(breaker: CircuitBreaker(policy))])
            let host = hosts[origin].flatMap { ($0.breaker.state == .closed) == wasClosed ? nil : $0 }
            return (result, host.map { Self.state(of: $0, at: origin) })
        }
        if let change { whenChanged(change) }
        return result
    }

    private static func allow(
        _ request: HTTPRequest, to host: inout Host, _ now: ContinuousClock.Instant
    ) -> Result<CircuitBreaker.Ticket, TransportError> {
        func refused(_ code: TransportError.Code, _ reason: String) -> Result<CircuitBreaker.Ticket, TransportError> {
            .failure(TransportError(code, at: request.url.host, reason))
        }
        if !request.isRetry {
            host.retryBudget.recordFirstAttempt()
        } else if host.breaker.state == .closed, !host.retryBudget.consume(at: now) {
            host.rejectedRetries += 1
            return refused(.tooManyRepetitions, "the retry budget for this host is used up")
        }
        switch host.breaker.allow(at: now, isGenuine: request.isGenuine, isRetry: request.isRetry) {
        case .allowed(let ticket):
            host.inFlight += 1
            return .success(ticket)
        case .wait(let pause):
            host.refused += 1
            let seconds = (pause / .seconds(1)).rounded(.up)
            return refused(
                .circuitOpen, "circuit breaker open after repeated failures; next attempt in \(Int(seconds)) s")
        }
    }

    private func complete(_ ticket: CircuitBreaker.Ticket, _ outcome: CircuitBreaker.CallOutcome, at origin: Origin) {
        let now = now()
        let random = outcome == .failure ? Double.random(in: 0..<1) : 0
        update(origin) { host in
            host.inFlight -= 1
            host.breaker.complete(ticket, outcome, at: now, random: random)
        }
    }

    /// Classifies a failed exchange. Errors caused by this process, such as `cancelled`, say nothing about the host.
    private func outcome(of error: TransportError) -> CircuitBreaker.CallOutcome {
        switch error.code {
        case .nameNotResolved, .connectFailed, .tlsFailed, .connectionReset, .emptyReply, .truncated, .protocolError:
            .failure
        case .timedOut: error.timeAtHost ?? .zero >= policy.minimumTimeout ? .failure : .inconclusive
        default: .inconclusive
        }
    }

    private static func state(of host: Host, at origin: Origin) -> HostState {
        HostState(
            host: "\(origin.isSecure ? "https" : "http")://\(origin.name):\(origin.port)", state: host.breaker.state,
            opened: host.breaker.opened, refused: host.refused, rejectedRetries: host.rejectedRetries,
            inFlight: host.inFlight)
    }
}
