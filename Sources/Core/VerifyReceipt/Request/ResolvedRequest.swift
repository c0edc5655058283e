import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeResponses

/// A request whose receipt was decoded and whose app is known: all that the sources, the rules and the observers need
/// to know about it.
package final class ResolvedRequest: Sendable {
    let request: VerifyReceiptRequest
    let route: UpstreamRouter.Route
    let verification: ReceiptVerification
    /// The item that the app's rules are checked against. It is never rendered into a response.
    let itemForRules: AuthenticItem?
    /// Whether one of the receipt's purchases was presented by another user before.
    let isReplay: Bool
    let app: AppConfiguration
    let options: VerifyReceiptService.RequestOptions
    /// The key of this request in the response cache; `nil` if its response must not be cached.
    let cacheKey: [UInt8]?
    let now: Timestamp
    let deadline: RequestDeadline
    let password: SharedSecretCheck

    package init(
        _ request: consuming VerifyReceiptRequest, on route: UpstreamRouter.Route, _ verification: ReceiptVerification,
        itemForRules: AuthenticItem?, isReplay: Bool, app: AppConfiguration,
        options: VerifyReceiptService.RequestOptions,
        cacheKey: [UInt8]?, now: Timestamp, deadline: RequestDeadline
    ) {
        password = SharedSecretCheck(request.password, for: app)
        if (options.sources ?? app.answer).first == .apple { request.dropReceivedBody(password: password.replacement) }
        (self.request, self.route, self.verification) = (request, route, verification)
        (self.itemForRules, self.isReplay, self.app) = (itemForRules, isReplay, app)
        (self.options, self.cacheKey, self.now) = (options, cacheKey, now)
        self.deadline = deadline
    }

    var sources: [AnswerSource] { options.sources ?? app.answer }

    var authenticItem: AuthenticItem? { verification.authenticItem }

    /// The receipt; `nil` if it is not authentic, or another item was presented.
    var authenticReceipt: Receipt? { authenticItem?.receipt }

    /// The environment to report for a response that names none itself.
    var environment: AppStoreEnvironment { verification.environment(on: route) }

    // MARK: - Checks

    /// The reason why a source other than Apple's own endpoint must not answer.
    struct SourceRefusal: Error {
        let result: SourceOutcome
    }

    /// Returns the item if a source other than Apple's own endpoint may answer with it. The item must be
    /// authentic and belong to the requested endpoint. If it holds an auto-renewable, the password must not be wrong.
    func trustedItem(for source: AnswerSource) throws(SourceRefusal) -> AuthenticItem {
        let item: AuthenticItem
        switch verification {
        case .authentic(let authentic): item = authentic
        case .rejected(let error, _):
            guard let status = error.status else {
                throw SourceRefusal(result: .unavailable(fallback: unavailable(from: source)))
            }
            throw refused(.failure(status))
        }
        if let redirected = misroutedStatus(item) { throw refused(.failure(redirected)) }
        if item.hasAutoRenewable, !password.permitsAutoRenewable(fromApple: false) {
            throw refused(.wrongSharedSecret(environment: item.environment))
        }
        return item
    }

    private func refused(_ answer: Answer) -> SourceRefusal {
        SourceRefusal(result: .answered(reply(answer, from: .receipt)))
    }

    /// 21007 or 21008. `nil` if the item belongs to the endpoint that the client named, or if it named none.
    func misroutedStatus(_ item: AuthenticItem) -> VerifyReceiptStatus? {
        guard case .only(let environment) = route, environment != item.environment else { return nil }
        return environment == .production ? .sandboxReceipt : .productionReceipt
    }

    // MARK: - Histories

    func history(
        of item: AuthenticItem, records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        download: AppTransactionPayload? = nil
    ) -> PurchaseHistory {
        item.history(
            records: records, download: download, revocations: revocations, appAppleId: app.appAppleId,
            dropsRefundedConsumables: app.refundedConsumables == .drop)
    }

    // MARK: - Replies

    func reply(_ answer: Answer, from source: AnswerSource) -> SourcedAnswer {
        SourcedAnswer(answer, source: source, environment: environment)
    }

    /// A 21005 of ours, which asks the client to retry.
    func unavailable(from source: AnswerSource) -> SourcedAnswer { reply(.temporarilyUnavailable(), from: source) }
}

extension VerifyReceiptRenderer {
    func response(
        _ history: PurchaseHistory, of item: AuthenticItem, to request: ResolvedRequest, from source: AnswerSource,
        origin: SourcedAnswer.Origin = .rendered
    ) -> SourcedAnswer {
        let options = AnswerOptions(
            excludesOldTransactions: request.request.excludesOldTransactions,
            latestReceiptInfoOrder: request.app.latestReceiptInfoOrder, latest: request.password.latest)
        var reply = request.reply(answer(history: history, requestDate: request.now, options: options), from: source)
        reply.consumables = history.records?.consumables ?? ConsumableIdentifiers()
        (reply.origin, reply.purchases) = (origin, ShownPurchases(in: history, of: item))
        return reply
    }
}
