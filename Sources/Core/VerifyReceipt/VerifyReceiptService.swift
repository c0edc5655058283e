package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import Logging
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage

/// Answers verifyReceipt requests, from HTTP and from the command line: one request body in, one response out. A class,
/// because thousands of requests that wait for Apple each refer to it.
package final class VerifyReceiptService: Sendable {
    private let decoder: ReceiptDecoder
    private let apps: AppRegistry
    private let components: ServiceComponents
    package let counts: ProxyMetrics
    private let countedApps: AppMetricsRegistry
    /// Counts refused receipts that the tolerant profile would have accepted; `nil` if that profile is in use.
    private let repairSampler: RepairSampler?
    private let responseCache: ResponseCache?
    private let rules: AppRules
    package let rollouts: RolloutRegistry
    private let evaluation: RequestEvaluation
    private let signedItems: SignedItemVerifier
    private let deadline: RequestDeadline.Limit
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    package init(_ components: ServiceComponents, tables: FieldTables) {
        self.components = components
        decoder = components.decoder
        apps = components.apps
        counts = components.counts
        countedApps = components.countedApps
        repairSampler = RepairSampler(decoder: components.decoder, counts: components.counts)
        deadline = components.deadline
        now = components.now
        logger = components.logger
        responseCache = ResponseCache(components)
        rules = AppRules(components)
        rollouts = components.rollouts
        signedItems = SignedItemVerifier(components)
        evaluation = RequestEvaluation(
            components, rules: rules, renderer: VerifyReceiptRenderer(tables: tables), cache: responseCache)
    }

    /// The options of a request. The defaults are those of a client's request.
    package struct RequestOptions: Sendable {
        /// Replaces the app's `answer`.
        package var sources: [AnswerSource]?
        /// Whether `sources` are the app's own ones after that of a rollout, so that responses in the archive belong to
        /// them too. Not with `stored` first: an archived response would be compared as one of the new source.
        var isArchived = false
        package var priority = HourlyBudget.Priority.live
        package var isFresh = false
        /// The caller's name for its user, from the header that `userHeader` names; `nil` if the caller names none.
        /// Replay detection compares its digest.
        package var user: Redacted<String>? { didSet { userDigest = user.map(ReplayDetector.digest) } }
        /// See ``ReplayDetector/digest(of:)``.
        private(set) var userDigest: [UInt8]?

        /// Creates options.
        package init(sources: [AnswerSource]? = nil, priority: HourlyBudget.Priority = .live, isFresh: Bool = false) {
            (self.sources, self.priority, self.isFresh) = (sources, priority, isFresh)
        }
    }

    /// Answers a request.
    ///
    /// - Parameter sources: tried instead of the app's `answer`; `nil` for the app's own.
    package func answer(body: [UInt8], route: UpstreamRouter.Route, sources: [AnswerSource]?) async -> SourcedAnswer {
        await answer(body: body, route: route, requestOptions: RequestOptions(sources: sources))
    }

    /// Answers a request. A client's request (priority `live`) is counted and timed.
    package func answer(
        body: consuming [UInt8], route: UpstreamRouter.Route, requestOptions: RequestOptions = RequestOptions()
    ) async -> SourcedAnswer {
        let start = ContinuousClock.now
        let reply = await cachedOrEvaluated(
            consume body, on: route, requestOptions, within: RequestDeadline(deadline, from: start))
        guard requestOptions.priority == .live else { return reply }
        count(reply)
        counts.durations[reply.source.index].observe(.now - start)
        if let app = reply.unconfiguredApp {
            counts.unconfiguredApps.record(app, at: now())
            evaluation.logger.logUnconfiguredApp(app, in: reply, at: now())
        }
        return reply
    }

    /// Clears the caches of all customers after an erasure, and loads the observations again from the store.
    ///
    /// - Throws: ``StorageError`` if the store cannot be read. The other caches are empty then.
    package func invalidateErasedCustomers(in store: any Store) async throws(StorageError) {
        responseCache?.removeAll()
        components.forgetCustomers()
        try await components.observations.reload(from: store.revocations)
    }

    package func explanations(of reply: SourcedAnswer) -> [String] { apps.explanations(of: reply) }

    /// Counts a response that another part of the server wrote. The responses of ``answer(body:route:requestOptions:)``
    /// are counted already.
    package func count(_ reply: SourcedAnswer) {
        countedApps[reply.claimedApp].verdicts.add(StatusLabel(reply.answer.status), reply.source, reply.environment)
    }

    package func read(_ body: [UInt8]) throws(VerifyReceiptRequest.Failure) -> VerifyReceiptRequest {
        try VerifyReceiptRequest(body: body, profile: decoder.profile)
    }

    /// The steps of a request, each of which may end it. A cheap one spares an expensive one.
    ///
    /// 1. ``ResponseCache``: the same request was answered before, and what its response depends on is unchanged.
    /// 2. The request is JSON with a receipt. Otherwise 21002.
    /// 3. The receipt is authentic, see ``ReceiptVerification``; a signed transaction, see
    ///    ``SignedItemVerifier``. What this server cannot judge goes on.
    /// 4. The app of the receipt is configured, or `unknownApps` allows it. Otherwise 21003; 21002 if the text is none.
    /// 5. No other user presented the purchase first, under `replay: refuse`.
    /// 6. The other rules of the app about the item: sandbox, testers, password
    ///    (``AppRules/refusalBeforeSources(of:)``).
    /// 7. The sources in their order, until one has a response (``RequestEvaluation``).
    /// 8. The rules again, about what the response shows (``AppRules/refusalOfAnswer(_:to:)``).
    private func cachedOrEvaluated(
        _ body: consuming [UInt8], on route: UpstreamRouter.Route, _ requestOptions: RequestOptions,
        within deadline: RequestDeadline
    ) async -> SourcedAnswer {
        var cacheKey: [UInt8]?
        if let responseCache, requestOptions.priority == .live, !requestOptions.isFresh,
            requestOptions.sources == nil, requestOptions.user == nil
        {
            cacheKey = responseCache.key(of: body, route)
            var reply: SourcedAnswer?
            if let cacheKey {
                reply = await responseCache.response(for: cacheKey, at: now(), within: deadline.reading(before: 1))
            }
            counts.responseCache.add(reply == nil ? HitLabel.miss : .hit)
            if let reply { return reply }
        }
        let request: VerifyReceiptRequest
        do throws(VerifyReceiptRequest.Failure) {
            request = try read(consume body)
        } catch {
            logger.debug("verifyReceipt request rejected with 21002", metadata: ["reason": "\(error.rawValue)"])
            return SourcedAnswer(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        let presented = request.presentedItem
        guard case .receipt = presented else {
            return await evaluated(presented, in: consume request, on: route, requestOptions, within: deadline)
        }
        let verification = verification(of: request, requestOptions)
        if case .rejected(let error, _) = verification, error.code == .bridgeHandle || !request.hasBase64Text {
            evaluation.logger.logMalformedReceipt(error, at: now())
            return SourcedAnswer(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        switch apps.resolution(of: verification) {
        case .refused(let status):
            var reply = answerWithoutSource(status, environment: verification.environment(on: route))
            reply.unconfiguredApp = verification.authenticItem.flatMap { apps.unconfigured($0.bundleId) }
            return reply
        case .app(let app):
            return await afterRules(
                verification, of: app, in: consume request, on: route, requestOptions, within: deadline,
                cacheKey: cacheKey)
        }
    }

    private func answerWithoutSource(_ status: VerifyReceiptStatus, environment: AppStoreEnvironment) -> SourcedAnswer {
        SourcedAnswer(
            status == .temporarilyUnavailable ? .temporarilyUnavailable() : .failure(status), source: .receipt,
            environment: environment)
    }

    /// Answers a request that holds a signed transaction. Nothing of it is sent to Apple.
    private func evaluated(
        _ presented: PresentedItem, in request: consuming VerifyReceiptRequest, on route: UpstreamRouter.Route,
        _ requestOptions: RequestOptions, within deadline: RequestDeadline
    ) async -> SourcedAnswer {
        switch signedItems.verify(presented, at: now()) {
        case .refused(let status, let failure, let app):
            if let failure, requestOptions.priority == .live {
                let code = ReceiptDecodingError(failure).code
                counts.authenticationFailures.add(code)
            }
            if let failure, failure.verdict == .notJudged {
                evaluation.logger.logUnjudged(failure, at: now())
            } else {
                logger.debug("signed item rejected", metadata: ["status": .stringConvertible(status.rawValue)])
            }
            var reply = answerWithoutSource(status, environment: route.environment)
            reply.unconfiguredApp = app
            return reply
        case .authentic(let item, let app):
            var options = requestOptions
            options.sources = signedItems.sources(options.sources ?? app.answer, for: item)
            return await afterRules(
                .authentic(item), of: app, in: request, on: route, options, within: deadline, cacheKey: nil)
        }
    }

    private func afterRules(
        _ verification: ReceiptVerification, of app: AppConfiguration, in request: consuming VerifyReceiptRequest,
        on route: UpstreamRouter.Route, _ requestOptions: RequestOptions, within deadline: RequestDeadline,
        cacheKey: [UInt8]?
    ) async -> SourcedAnswer {
        let item = rules.item(for: app, verification, in: request, requestOptions)
        var isReplay = false
        if let item {
            isReplay = await rules.isReplay(
                item.ownerIdentifiers, in: item.scope, of: app, requestOptions, claims: false,
                within: deadline.reading(before: 1))
        }
        if isReplay, app.replay == .refuse {
            return SourcedAnswer(
                .failure(.notAuthentic), source: .receipt, environment: verification.environment(on: route))
        }
        let lacksPassword = request.password == .absent && app.sharedSecret == nil
        // While Apple is called, the text is in memory only if the receipt refers to it.
        request.dropText()
        var requestOptions = requestOptions
        let rollout = rollout(of: app, for: verification, requestOptions)
        if let rollout {
            requestOptions.sources = rollout.sources(before: app.answer)
            requestOptions.isArchived = rollout.source != .stored
        }
        var reply = await evaluation.answer(
            ResolvedRequest(
                request, on: route, verification, itemForRules: item, isReplay: isReplay,
                app: app, options: requestOptions, cacheKey: cacheKey, now: now(),
                deadline: deadline))
        reply.authenticApp = verification.authenticItem?.receipt?.bundleId
        reply.claimedApp = app.bundleId
        reply.unconfiguredApp = verification.authenticItem.flatMap { apps.unconfigured($0.bundleId) }
        reply.lacksPassword = lacksPassword
        reply.rollout = rollout
        return reply
    }

    /// Returns the rollout that puts its source first for a request; `nil` if none does.
    ///
    /// Rollouts are about receipts with an original transaction id. A receipt without one is answered from itself by
    /// every source. Signed transactions are never sent to Apple, so they have no response to compare with.
    private func rollout(
        of app: AppConfiguration, for verification: ReceiptVerification, _ requestOptions: RequestOptions
    ) -> RolloutConfiguration? {
        guard app.rollout != nil, requestOptions.sources == nil,
            let receipt = verification.authenticItem?.receipt
        else { return nil }
        switch rollouts.decision(for: receipt.contents.smallestOriginalTransactionId, of: app) {
        case .usual: return nil
        case .waiting:
            countedApps[app.bundleId].rolloutResponses.add(RolloutLabel.waiting)
            return nil
        case .included(let rollout): return rollout
        }
    }

    /// Decodes and verifies the receipt of a request. A client's refused receipt may be sampled for repairs.
    private func verification(of request: VerifyReceiptRequest, _ requestOptions: RequestOptions) -> ReceiptVerification
    {
        let text = request.receiptText.reveal()
        let verification = ReceiptVerification(of: text, by: decoder)
        if case .rejected(let error, _) = verification, requestOptions.priority == .live {
            counts.authenticationFailures.add(error.code)
            repairSampler?.sample(at: text, refusedFor: error, at: now())
        }
        return verification
    }
}

extension VerifyReceiptRequest {
    fileprivate var presentedItem: PresentedItem {
        let text = receiptText.reveal()
        return PresentedItem(text.span)
    }
}

extension UpstreamRouter.Route {
    /// The environment to report for a response that names none itself.
    package var environment: AppStoreEnvironment {
        switch self {
        case .auto: .production
        case .only(let environment): environment
        }
    }
}
