import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeTransport

/// The calls of the source `apple`: sends the requests that ``UpstreamRouter`` decides on, within a deadline.
final class VerifyReceiptSource: Sendable {
    private let client: VerifyReceiptClient
    private let sleep: @Sendable (Duration) async -> Void

    /// Creates the source for the endpoints of the settings: Apple's, or those of a simulator.
    ///
    /// - Parameter sleep: waits between two attempts. Returns early if the task is canceled.
    /// - Throws: ``ConfigurationError`` if an endpoint is not a usable URL.
    init(
        settings: ProxyConfiguration, transport: any HTTPTransport, counts: ProxyMetrics = ProxyMetrics(),
        sleep: @escaping @Sendable (Duration) async -> Void
    ) throws {
        let endpoints: EnvironmentURLs
        do {
            endpoints = try EnvironmentURLs(
                production: settings.verifyReceipt.production, sandbox: settings.verifyReceipt.sandbox)
        } catch {
            throw ConfigurationError(["upstream.verifyReceipt: \(error)"])
        }
        client = VerifyReceiptClient(transport: transport, endpoints: endpoints, counts: counts.upstream)
        self.sleep = sleep
    }

    enum CallOutcome: Sendable {
        case pass(AppleResponse, from: AppStoreEnvironment)
        /// Apple says that the receipt is from the sandbox, which this app denies. The sandbox endpoint was not called.
        case sandboxDenied
        /// There is no response to return.
        ///
        /// - Parameters:
        ///   - last: the last temporary status that Apple returned; `nil` if there was none.
        ///   - wasCalled: false if no request was sent, for example because the circuit breaker is open.
        ///   - isUnreachable: whether the last attempt failed to connect.
        case unavailable(
            last: AppleResponse?, from: AppStoreEnvironment, reason: String, wasCalled: Bool, isUnreachable: Bool)
    }

    /// - Parameters:
    ///   - isVerifiedHere: whether the receipt is authentic by our own check.
    ///   - isGenuine: for ``HTTPRequest/isGenuine``.
    ///   - owner: the bundle id of the configured app whose receipt it is; empty if there is none.
    ///   - limit: the time for all attempts and pauses together.
    func answer(
        body: [UInt8], route: UpstreamRouter.Route, isVerifiedHere: Bool, isGenuine: Bool = true,
        followsToSandbox: Bool = true,
        owner: String, within limit: Duration
    ) async -> CallOutcome {
        let end = ContinuousClock.now + limit
        var router = UpstreamRouter(route: route, isVerifiedHere: isVerifiedHere, followsToSandbox: followsToSandbox)
        var instruction = router.first
        var (wasCalled, isUnreachable) = (false, false)
        while true {
            switch instruction {
            case .pass(let answer, let environment):
                return .pass(answer, from: environment)
            case .sandboxDenied:
                return .sandboxDenied
            case .unavailable(let last, let environment, let reason):
                return .unavailable(
                    last: last, from: environment, reason: reason, wasCalled: wasCalled, isUnreachable: isUnreachable)
            case .call(let environment, let pause):
                var remaining = end - ContinuousClock.now
                if pause > 0 {
                    guard remaining > .milliseconds(pause) else {
                        instruction = router.outOfTime
                        continue
                    }
                    await sleep(.milliseconds(pause))
                    remaining = end - ContinuousClock.now
                }
                guard remaining > .zero, !Task.isCancelled else {
                    instruction = router.outOfTime
                    continue
                }
                let reply = await client.send(
                    body: body, to: environment, timeout: remaining, isRetry: pause > 0, isGenuine: isGenuine,
                    owner: owner)
                wasCalled = wasCalled || !reply.isRefusal
                isUnreachable = reply.isUnreachable
                instruction = router.received(reply)
            }
        }
    }
}

extension Result<AppleResponse, UpstreamError> {
    fileprivate var isRefusal: Bool { if case .failure(let failure) = self { failure.isRefusal } else { false } }

    fileprivate var isUnreachable: Bool {
        if case .failure(let failure) = self { failure.isUnreachable } else { false }
    }
}
