package import ReceiptBridgeAppStore
package import ReceiptBridgeBase

/// Decides which of Apple's endpoints is called next, and when to stop. A value without sockets and clocks, so that
/// every sequence of replies can be tested.
///
/// | reply | next step |
/// |---|---|
/// | 21007 from production, route `auto` | call the sandbox; its status is checked as well |
/// | 21005, 21009, 21100 to 21199 | retry after 100 ms, then after 400 ms; not if Apple says `"is_retryable":false` |
/// | 21002 for a receipt that is authentic here | retry once, then unavailable |
/// | any other status | return Apple's response |
/// | HTTP 5xx, 429, 408, a timeout, no JSON, 0 or 21006 without a receipt | retry as above, after `Retry-After` if that is longer |
/// | not sent, because the circuit breaker is open | unavailable |
///
/// There are at most two retries in all, so at most four calls.
package struct UpstreamRouter: Sendable {
    /// The endpoint that the client requested.
    package enum Route: Sendable, Hashable {
        /// Production, then the sandbox on 21007. The client never gets 21007 or 21008.
        case auto
        /// Exactly this endpoint. A receipt of the other one gets 21007 or 21008, as from Apple.
        case only(AppStoreEnvironment)
    }

    /// The next step of the caller.
    package enum Instruction: Sendable {
        /// Call this endpoint after a pause, in milliseconds.
        case call(AppStoreEnvironment, afterMilliseconds: Int64)
        /// Return Apple's response unchanged.
        case pass(AppleResponse, from: AppStoreEnvironment)
        /// Apple says that the receipt is from the sandbox, which this app denies. The sandbox endpoint is not called.
        case sandboxDenied
        /// Apple has no response now. `last` is the last temporary status that it returned, for a client that no other
        /// source can answer either.
        case unavailable(last: AppleResponse?, from: AppStoreEnvironment, reason: String)
    }

    /// The pauses before the first and the second retry, in milliseconds.
    private static let pauses = [100, 400].map {
        Int64(Duration.milliseconds($0).atTestSpeed(atLeast: .milliseconds(1)) / .milliseconds(1))
    }

    private let route: Route
    private let isVerifiedHere: Bool
    private let followsToSandbox: Bool
    private var environment: AppStoreEnvironment
    private var retries = 0
    private var malformedResponses = 0
    private var failure: String?
    /// The last temporary status from Apple. A later outage does not clear it.
    private var last: AppleResponse?

    /// - Parameters:
    ///   - isVerifiedHere: whether the receipt is authentic by our own check. If so, Apple's 21002 (malformed) must be
    ///     a temporary fault.
    ///   - followsToSandbox: false if the app denies sandbox receipts; then 21007 ends the routing.
    package init(route: Route, isVerifiedHere: Bool, followsToSandbox: Bool = true) {
        (self.route, self.isVerifiedHere, self.followsToSandbox) = (route, isVerifiedHere, followsToSandbox)
        switch route {
        case .auto: environment = .production
        case .only(let environment): self.environment = environment
        }
    }

    package var first: Instruction { .call(environment, afterMilliseconds: 0) }

    package mutating func received(_ reply: Result<AppleResponse, UpstreamError>) -> Instruction {
        switch reply {
        case .success(let answer): received(answer)
        case .failure(let failure) where failure.isRefusal: notSent(failure)
        case .failure(let failure):
            retry(isFinal: !failure.isTemporary, reason: "\(failure)", after: failure.retryAfter ?? .zero)
        }
    }

    private mutating func received(_ answer: AppleResponse) -> Instruction {
        switch answer.status {
        case .sandboxReceipt: redirect(.sandbox, answer)
        case .productionReceipt: redirect(.production, answer)
        case .malformedReceipt where isVerifiedHere: retryMalformed(answer)
        case _ where answer.isTransient: retryTemporary(answer)
        default: .pass(answer, from: environment)
        }
    }

    /// Handles 21007 and 21008: the receipt belongs to the other endpoint.
    private mutating func redirect(_ other: AppStoreEnvironment, _ answer: AppleResponse) -> Instruction {
        if other == environment {
            return .unavailable(
                last: nil, from: environment,
                reason: "Apple's \(environment) endpoint redirects the receipt to \(environment)")
        }
        guard route == .auto else { return .pass(answer, from: environment) }
        guard environment == .production else {
            return .unavailable(
                last: nil, from: environment, reason: "each of Apple's endpoints redirects the receipt to the other")
        }
        guard followsToSandbox else { return .sandboxDenied }
        environment = other
        // The recorded status is from the endpoint that the receipt does not belong to.
        last = nil
        return .call(other, afterMilliseconds: 0)
    }

    private mutating func retryTemporary(_ answer: AppleResponse) -> Instruction {
        last = answer
        return retry(isFinal: false, reason: "Apple returned \(answer.status.rawValue)")
    }

    /// A 21002 for a receipt that is authentic here: retried once, then treated as an outage.
    private mutating func retryMalformed(_ answer: AppleResponse) -> Instruction {
        malformedResponses += 1
        let reason = "Apple returned 21002 for a receipt that is authentic here"
        guard malformedResponses == 1 else { return .unavailable(last: nil, from: environment, reason: reason) }
        return retry(isFinal: false, reason: reason)
    }

    /// Handles a call that was not sent, for example because the circuit breaker is open. The failure of an earlier
    /// attempt says more than that, so it is reported if there is one.
    private func notSent(_ refusal: UpstreamError) -> Instruction {
        .unavailable(last: last, from: environment, reason: failure ?? "\(refusal)")
    }

    /// The next step if no time is left for another call.
    package var outOfTime: Instruction {
        .unavailable(last: last, from: environment, reason: failure ?? "no time left for another call")
    }

    /// Retries, unless the failure is final or the retries are used up.
    ///
    /// - Parameter requested: the service's `Retry-After`. A pause beyond the client's deadline ends the routing.
    private mutating func retry(isFinal: Bool, reason: String, after requested: Duration = .zero) -> Instruction {
        guard !isFinal, retries < Self.pauses.count else {
            return .unavailable(last: last, from: environment, reason: reason)
        }
        retries += 1
        failure = reason
        let pause = max(Self.pauses[retries - 1], Int64(requested / .milliseconds(1)))
        return .call(environment, afterMilliseconds: pause)
    }
}
