package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeTransport

/// A client of the App Store Server API for one app. It handles tokens, rate limits, retries and deadlines; the
/// endpoints are in extensions.
///
/// A call ends within its time limit and within its maximum number of exchanges, whatever the server does.
package struct ServerAPIClient: Sendable {
    /// The dependencies that the clients of a process share.
    package struct Dependencies: Sendable {
        package var transport: any HTTPTransport
        package var hosts: EnvironmentURLs
        package var verifier: SignedPayloadVerifier
        package var retry: RetryPolicy
        package var clock: AppStoreClock
        package var counts: UpstreamMetrics?

        package init(
            transport: any HTTPTransport, hosts: EnvironmentURLs, verifier: SignedPayloadVerifier,
            retry: RetryPolicy = RetryPolicy(), clock: AppStoreClock = .system, counts: UpstreamMetrics? = nil
        ) {
            (self.transport, self.hosts, self.verifier) = (transport, hosts, verifier)
            (self.retry, self.clock, self.counts) = (retry, clock, counts)
        }
    }

    let parts: Dependencies
    let tokens: ProviderTokens
    let budget: ServerAPIBudget
    let lookups = SingleFlight<CustomerKey, CustomerRecords, UpstreamError>()
    private let exchangeLimit = Duration.seconds(6)
    private let maximumResponseBytes = 8 << 20
    /// The time after which a call that waits for its budget looks at it again. The wait may have been that of this
    /// process alone, while the store with the shared buckets could not be reached.
    private let budgetInterval = Duration.seconds(2)

    /// The rate limits are those of the app, shared by all its clients. `previous` is the client of the same app before
    /// a configuration reload. If the account is unchanged, its loaded key and token stay in use, whatever the key file
    /// contains at the moment.
    package init(
        account: ServerAPIAccount, parts: Dependencies, budget: ServerAPIBudget, previous: ServerAPIClient? = nil
    ) {
        self.parts = parts
        self.tokens =
            previous.flatMap { $0.tokens.account == account ? $0.tokens : nil } ?? ProviderTokens(account: account)
        self.budget = budget
    }

    package var bundleId: String { tokens.bundleId }

    /// Starts the limits of one operation, counted from now.
    func callBudget(_ options: CallOptions) -> CallBudget { CallBudget(options, uptime: parts.clock.uptime()) }

    /// Whether Apple has asked for a pause in the calls of an endpoint (429).
    func isPaused(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) -> Bool {
        let bucket = ServerAPIBudget.Key(endpoint: endpoint, environment: environment)
        return budget.pauseLeft(bucket, at: parts.clock.uptime()) != nil
    }

    /// Sends a call, once if `retries` is false. Returns the JSON object, or `nil` if the call has no response body.
    func send(
        _ call: ServerAPICall, to environment: AppStoreEnvironment, _ callBudget: CallBudget, retries: Bool = true
    ) async throws(UpstreamError) -> JSONObject? {
        let callBudget = callBudget.forCall(at: parts.clock.uptime())
        var retryState = RetryState(policy: parts.retry, isRepeatable: call.isRepeatable)
        var previousFailure: UpstreamError?
        while true {
            let token = try tokens.token(now: parts.clock.now())
            let failure: UpstreamError
            do throws(UpstreamError) {
                return try await exchange(call, environment, token, callBudget, isRetry: previousFailure != nil)
            } catch {
                // If the transport rejected a retry, the error of the attempt before it says more.
                failure = error.isRefusal ? previousFailure ?? error : error
                if error.isRefusal || !retries { throw failure }
                previousFailure = failure
            }
            let step = retryState.step(
                after: failure, remaining: callBudget.remaining(at: parts.clock.uptime()), random: .random(in: 0..<1))
            switch step {
            case .giveUp: throw failure
            case .freshToken: tokens.discard(token)
            case .retry(let pause) where failure.httpStatus == 429:
                try await wait(for: call.endpoint, environment, pause, isNamedByApple: failure.retryAfter != nil)
            case .retry(let pause): try await wait(pause)
            }
        }
    }

    /// Sends a call once, within the rate limits and the limits of the operation, and records metrics.
    private func exchange(
        _ call: ServerAPICall, _ environment: AppStoreEnvironment, _ token: ProviderToken, _ callBudget: CallBudget,
        isRetry: Bool
    ) async throws(UpstreamError) -> JSONObject? {
        let base = try base(of: environment)
        try await takeBudget(call.endpoint, environment, callBudget, at: base.host)
        guard callBudget.consumeCall() else {
            throw UpstreamError(.tooManyCalls, at: base.host, "the operation has used its maximum number of calls")
        }
        let remaining = callBudget.remaining(at: parts.clock.uptime())
        guard remaining > .zero else {
            throw UpstreamError(.deadline, at: base.host, "the time limit of the operation has expired")
        }
        let start = ContinuousClock.now
        do throws(UpstreamError) {
            let response = try await response(to: call, from: base, token, remaining, callBudget, isRetry: isRetry)
            parts.counts?.recordExchange(with: call.endpoint, environment, .answered, after: .now - start)
            return response
        } catch {
            parts.counts?.recordExchange(with: call.endpoint, environment, UpstreamOutcome(error), after: .now - start)
            if error.httpStatus == 429, let retryAfter = error.retryAfter {
                budget.pause(call.endpoint, environment, for: retryAfter, at: parts.clock.uptime())
            }
            throw error
        }
    }

    private func base(of environment: AppStoreEnvironment) throws(UpstreamError) -> HTTPURL {
        guard let base = parts.hosts[environment] else {
            throw UpstreamError(.noEndpoint, at: "-", "no endpoint for environment \(environment.rawValue)")
        }
        return base
    }

    private func response(
        to call: ServerAPICall, from base: HTTPURL, _ token: ProviderToken, _ remaining: Duration,
        _ callBudget: CallBudget, isRetry: Bool
    ) async throws(UpstreamError) -> JSONObject? {
        let response: HTTPResponse
        do throws(TransportError) {
            var headers: HTTPHeaders = ["Authorization": "Bearer \(token.text.reveal())", "Accept": "application/json"]
            if !call.body.isEmpty { headers.append("Content-Type", "application/json") }
            var request = try HTTPRequest(
                method: call.method, url: HTTPURL(base.text + call.target), headers: headers, body: call.body,
                timeout: min(remaining, exchangeLimit), connectTimeout: min(remaining, .seconds(5)),
                maximumResponseBytes: maximumResponseBytes)
            request.isRetry = isRetry
            request.owner = bundleId
            response = try await parts.transport.send(request)
        } catch {
            throw UpstreamError(error)
        }
        if let memory = response.memory { callBudget.keep(memory) }
        return try ServerAPIReply.read(response, for: call, from: base.host, now: parts.clock.now())
    }

    /// Takes a call from the hourly budget, and waits for it if the operation has enough time. Otherwise throws
    /// `budgetSpent` at once.
    private func takeBudget(
        _ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ callBudget: CallBudget, at host: String
    ) async throws(UpstreamError) {
        while case .wait(let pause) = await budget.take(
            endpoint, environment, callBudget.priority, at: parts.clock.uptime())
        {
            guard pause < callBudget.remaining(at: parts.clock.uptime()) else {
                throw UpstreamError(
                    .budgetSpent, at: host, "hourly rate limit budget for \(endpoint.name) is used up",
                    retryAfter: pause)
            }
            try await wait(
                for: endpoint, environment, pause, atMost: budgetInterval,
                isNamedByApple: isPaused(endpoint, environment))
        }
    }

    /// Waits for a rate limit, and reports the whole wait in ``ServerAPIBudget/wait(at:)``.
    private func wait(
        for endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, _ pause: Duration,
        atMost limit: Duration? = nil, isNamedByApple: Bool
    ) async throws(UpstreamError) {
        let end = ServerAPIBudget.WaitEnd(
            key: .init(endpoint: endpoint, environment: environment), instant: parts.clock.uptime() + pause,
            isNamedByApple: isNamedByApple)
        budget.beginWait(until: end)
        defer { budget.endWait(until: end) }
        try await wait(min(pause, limit ?? pause))
    }

    private func wait(_ pause: Duration) async throws(UpstreamError) {
        do {
            try await parts.clock.sleep(pause)
        } catch {
            throw UpstreamError(TransportError(.cancelled, at: "-", "the waiting task was canceled"))
        }
    }
}

/// A request as it would be sent, without its token.
package struct RequestPreview: Sendable, Hashable {
    package let method: HTTPMethod
    package let url: String
    /// The JSON body; empty for none.
    package let body: [UInt8]
}

extension ServerAPIClient {
    /// Returns the request for a call without sending it.
    package func preview(
        _ call: ServerAPICall, in environment: AppStoreEnvironment
    ) throws(UpstreamError) -> RequestPreview {
        RequestPreview(method: call.method, url: try base(of: environment).text + call.target, body: call.body)
    }

    /// Verifies a notification from Apple's notification history. It must belong to this app and environment.
    package func verified(
        notification text: String, in environment: AppStoreEnvironment
    ) throws(SignedPayloadError) -> VerifiedNotification {
        try parts.verifier.verifyNotification(
            text, expecting: PayloadRequirements(bundleId: bundleId, environment: environment), now: parts.clock.now())
    }
}
