import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// The source `apple`: forwards the request to Apple's verifyReceipt and returns the response byte for byte.
struct AppleResponseSource: ResponseSource {
    /// `nil` if there are no network connections.
    let client: VerifyReceiptSource?
    let counts: ProxyMetrics
    let logger: RequestLogger

    /// Forwards the request. The configured secret is sent if the client sent no password, or one of `acceptedSecrets`.
    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome {
        let limit = request.deadline.share(before: turn.laterCalls)
        guard let client else { return .unavailable(fallback: request.unavailable(from: .apple)) }
        let outcome = await client.answer(
            body: request.request.forwardedBody(password: request.password.replacement), route: request.route,
            isVerifiedHere: request.authenticReceipt != nil,
            isGenuine: request.authenticReceipt != nil && request.request.isOrdinary,
            followsToSandbox: followsToSandbox(request),
            // A receipt that is not authentic can name any app, so it must not use that app's turn in the queue.
            owner: request.authenticReceipt == nil ? "" : logger.apps.logName(of: request.app.bundleId), within: limit)
        switch outcome {
        case .pass(let answer, let environment):
            guard isSecretAccepted(answer, from: environment, to: request) else {
                return .unavailable(fallback: forwarded(answer, from: environment).withoutOrigin)
            }
            return .answered(forwarded(answer, from: environment))
        case .sandboxDenied:
            return .answered(SourcedAnswer(.failure(.notAuthentic), source: .receipt, environment: .sandbox))
        case .unavailable(let last, let environment, let reason, let wasCalled, _):
            // The circuit breaker logs once when it opens. A request that it refuses is therefore logged at the debug
            // level only, and so is one whose client disconnected.
            logger.log(
                wasCalled && !Task.isCancelled ? .warning : .debug,
                "Apple's verifyReceipt is unavailable; trying the next source",
                by: "apple", environment, of: request, ["reason": "\(reason)"])
            return .unavailable(
                fallback: last.map { forwarded($0, from: environment).withoutOrigin }
                    ?? request.unavailable(from: .apple))
        }
    }

    /// Returns false if Apple has rejected the configured secret, although the receipt is authentic. That is a mistake
    /// of the configuration, which the customer must not pay for: the next source is asked.
    private func isSecretAccepted(
        _ answer: AppleResponse, from environment: AppStoreEnvironment, to request: ResolvedRequest
    ) -> Bool {
        guard request.password.isAccepted, request.app.sharedSecret != nil, let receipt = request.authenticReceipt,
            answer.status == .wrongSharedSecret || answer.status.promisesReceipt
        else { return true }
        let isAccepted = answer.status != .wrongSharedSecret
        counts.rejectedCredentials.record(.sharedSecret, of: receipt.bundleId, isAccepted: isAccepted)
        if !isAccepted {
            counts.events.add(MetricEvent.rejectedSecrets)
            logger.log(
                .error, "Apple rejected the configured sharedSecret (21004); trying the next source", by: "secret",
                environment, of: request)
        }
        return isAccepted
    }

    /// Whether a 21007 of Apple's production endpoint is followed to the sandbox endpoint.
    ///
    /// A receipt that is authentic here and says Production is followed even if the app denies the sandbox. If Apple's
    /// 21007 is a fault, the sandbox endpoint returns 21008, and the next source is tried.
    private func followsToSandbox(_ request: ResolvedRequest) -> Bool {
        request.app.sandbox != .deny || request.authenticReceipt != nil
    }

    /// Apple's response, byte for byte.
    private func forwarded(_ answer: AppleResponse, from environment: AppStoreEnvironment) -> SourcedAnswer {
        var result = SourcedAnswer(
            Answer(status: answer.status, body: answer.body), source: .apple, environment: environment,
            origin: .apple(answer, from: environment))
        result.memory = answer.memory
        return result
    }
}
