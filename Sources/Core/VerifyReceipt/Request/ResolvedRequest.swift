import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeResponses

/// A request whose receipt was decoded and whose app is known: all that the sources, the rules and the observers need
/// to know about it.
package final class ResolvedRequest: Sendable {
    let request: VerifyReceiptRequest
    let route: UpstreamRouter.Route
    let verification: ReceiptVerification
    /// The item that the app's rules are checked against. It is never rendered into a response. `nil` if nothing
    /// in the request is authentic.
    let itemForRules: AuthenticItem?
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
        _ request: consuming VerifyReceiptRequest, on route: UpstreamRouter.Route, _ verification: ReceiptVerification,
        itemForRules: AuthenticItem?, isReplay: Bool, app: AppConfiguration,
        options: VerifyReceiptService.RequestOptions,
        cacheKey: [UInt8]?, now: Timestamp, deadline: RequestDeadline
    ) {
        password = SharedSecretCheck(request.password, for: app)
        if (options.sources ?? app.answer).first == .apple { request.dropReceivedBody(password: password.replacement) }
        self.request = request
        self.route = route
        self.verification = verification
        self.itemForRules = itemForRules
        self.isReplay = isReplay
        self.app = app
        self.options = options
        self.cacheKey = cacheKey
        self.now = now
        self.deadline = deadline
    }

    /// The sources to ask, in order.
    var sources: [AnswerSource] { options.sources ?? app.answer }

    /// The presented item; `nil` if it is not authentic.
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

    /// The status that redirects the client, 21007 or 21008. `nil` if the item belongs to the endpoint that the
    /// client named, or if it named none.
    func misroutedStatus(_ item: AuthenticItem) -> VerifyReceiptStatus? {
        guard case .only(let environment) = route, environment != item.environment else { return nil }
        return environment == .production ? .sandboxReceipt : .productionReceipt
    }

    // MARK: - Histories

    /// The history of an item and of the records of its customer, to be rendered.
    func history(
        of item: AuthenticItem, records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        download: AppTransactionPayload? = nil
    ) -> PurchaseHistory {
        item.history(
            records: records, download: download, revocations: revocations, appAppleId: app.appAppleId,
            dropsRefundedConsumables: app.refundedConsumables == .drop)
    }

    // MARK: - Replies

    /// A response of ours, for the environment of this request.
    func reply(_ answer: Answer, from source: AnswerSource) -> SourcedAnswer {
        SourcedAnswer(answer, source: source, environment: environment)
    }

    /// A 21005 of ours, which asks the client to retry.
    func unavailable(from source: AnswerSource) -> SourcedAnswer {
        reply(.temporarilyUnavailable(), from: source)
    }
}

extension VerifyReceiptRenderer {
    /// Renders the history of an item's customer, with the options of the request and of its app.
    func response(
        _ history: PurchaseHistory, of item: AuthenticItem, to request: ResolvedRequest, from source: AnswerSource,
        origin: SourcedAnswer.Origin = .rendered
    ) -> SourcedAnswer {
        let options = AnswerOptions(
            excludesOldTransactions: request.request.excludesOldTransactions,
            latestReceiptInfoOrder: request.app.latestReceiptInfoOrder, latest: request.password.latest)
        var reply = request.reply(
            answer(history: history, requestDate: request.now, options: options), from: source)
        reply.consumables = history.records?.consumables ?? ConsumableIdentifiers()
        (reply.origin, reply.purchases) = (origin, ShownPurchases(in: history, of: item))
        return reply
    }
}
