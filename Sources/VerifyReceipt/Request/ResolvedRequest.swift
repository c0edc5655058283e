package import BridgeConfiguration
import AppStorePayloads
import Responses
package import ReceiptDecoding
package import AppStoreTypes

/// A request whose receipt was decoded and whose app is known: all that the sources, the rules and the observers need
/// to know about it.
package struct ResolvedRequest: Sendable {
    let request: VerifyReceiptRequest
    let route: UpstreamRouter.Route
    let verification: ReceiptVerification
    /// The receipt that the app's rules are checked against. It is never rendered into a response. `nil` if nothing
    /// in the request is authentic.
    let receiptForRules: Receipt?
    /// Whether one of the receipt's purchases was presented by another user before.
    let isReplay: Bool
    let app: AppConfiguration
    let options: VerifyReceiptService.RequestOptions
    /// The key of this request in the response cache; `nil` if its response must not be cached.
    let cacheKey: [UInt8]?
    let now: Timestamp
    let deadline: RequestDeadline
    /// The result of checking the password against the app's secrets.
    let password: SharedSecretCheck

    package init(
        _ request: VerifyReceiptRequest, on route: UpstreamRouter.Route, _ verification: ReceiptVerification,
        receiptForRules: Receipt?, isReplay: Bool, app: AppConfiguration, options: VerifyReceiptService.RequestOptions,
        cacheKey: [UInt8]?, now: Timestamp, deadline: RequestDeadline
    ) {
        self.request = request
        self.route = route
        self.verification = verification
        self.receiptForRules = receiptForRules
        self.isReplay = isReplay
        self.app = app
        self.options = options
        self.cacheKey = cacheKey
        self.now = now
        self.deadline = deadline
        password = SharedSecretCheck(
            request.password, for: app,
            hasAutoRenewable: verification.authenticReceipt?.contents.hasAutoRenewable ?? false)
    }

    /// The sources to ask, in order.
    var sources: [AnswerSource] { options.sources ?? app.answer }

    /// The receipt; `nil` if it is not authentic.
    var authenticReceipt: Receipt? { verification.authenticReceipt }

    /// The environment to report for a response that names none itself.
    var environment: AppStoreEnvironment { verification.environment(on: route) }

    // MARK: - Checks

    /// The response to a request without a required password; `nil` if the request may continue.
    var responseToMissingPassword: VerifyReceiptResult? {
        guard case .missing = password else { return nil }
        // The endpoint is checked before the password: a receipt of the other endpoint is redirected (21007, 21008)
        // with or without one.
        if let redirected = authenticReceipt.flatMap(misroutedStatus) {
            return reply(.failure(redirected), from: .receipt)
        }
        return reply(.wrongSharedSecret(environment: environment), from: .receipt)
    }

    /// The reason why a source other than Apple's own endpoint must not answer.
    struct Refusal: Error {
        let result: SourceResult
    }

    /// Returns the receipt if a source other than Apple's own endpoint may answer with it. The receipt must be
    /// authentic and belong to the requested endpoint. If it holds an auto-renewable, the password must not be wrong.
    func trustedReceipt(for source: AnswerSource) throws(Refusal) -> Receipt {
        let receipt: Receipt
        switch verification {
        case .authentic(let authentic): receipt = authentic
        case .rejected(let error, _):
            guard let status = error.status else {
                throw Refusal(result: .unavailable(fallback: unavailable(from: source)))
            }
            throw refusal(.failure(status))
        }
        if let redirected = misroutedStatus(receipt) { throw refusal(.failure(redirected)) }
        if case .wrong = password, receipt.contents.hasAutoRenewable {
            throw refusal(.wrongSharedSecret(environment: receipt.environment))
        }
        return receipt
    }

    private func refusal(_ answer: VerifyReceiptAnswer) -> Refusal {
        Refusal(result: .answered(SourceResponse(reply(answer, from: .receipt))))
    }

    /// The status that redirects the client, 21007 or 21008. `nil` if the receipt belongs to the endpoint that the
    /// client named, or if it named none.
    private func misroutedStatus(_ receipt: Receipt) -> VerifyReceiptStatus? {
        guard case .only(let environment) = route, environment != receipt.environment else { return nil }
        return environment == .production ? .sandboxReceipt : .productionReceipt
    }

    // MARK: - Replies

    /// A response of ours, for the environment of this request.
    func reply(_ answer: VerifyReceiptAnswer, from source: AnswerSource) -> VerifyReceiptResult {
        VerifyReceiptResult(answer, source: source, environment: environment)
    }

    /// A 21005 of ours, with `is_retryable`.
    func unavailable(from source: AnswerSource) -> VerifyReceiptResult {
        reply(.temporarilyUnavailable(isRetryable: true), from: source)
    }
}

extension VerifyReceiptRenderer {
    /// Renders a history, with the options of the request and of its app.
    ///
    /// - Parameter password: `nil` for a response from the receipt alone: it either holds nothing that a password
    ///   protects, or ``ResolvedRequest/trustedReceipt(for:)`` has checked the password already.
    func answer(
        _ history: PurchaseHistory, to request: ResolvedRequest, from source: AnswerSource,
        _ password: SharedSecretCheck? = nil
    ) -> VerifyReceiptResult {
        let options = AnswerOptions(
            excludesOldTransactions: request.request.excludesOldTransactions,
            latestReceiptInfoOrder: request.app.latestReceiptInfoOrder, omitsLatest: password?.omitsLatest ?? false)
        var reply = request.reply(
            answer(history: history, requestDate: request.now, options: options), from: source)
        reply.consumables = history.records?.consumables ?? []
        return reply
    }
}
