package import AppStore
import Ledger
import Logging
import Purchases
import ReceiptDecoding
import Rendering
package import StoreTypes
import Telemetry

/// The walk: one request body in, one verdict out, whichever door it came through.
package struct VerifyReceiptService: Sendable {
    let decoder: ReceiptDecoder
    let apps: AppRegistry
    let apple: VerifyReceiptSource?
    let serverAPI: ServerAPISource?
    let stored: StoreSource?
    /// Nil where Apple's answers are not kept.
    let lastGood: ResponseArchive?
    let observations: UpstreamObservations
    let replays: ReplayDetector
    /// Nil where no app is answered from the store first.
    let memory: ResponseCache?
    package let counts: ProxyMetrics
    private let countedApps: AppMetricsRegistry
    /// Nil where nothing is refused that could be mended.
    private let probe: RepairSampler?
    let renderer: VerifyReceiptRenderer
    /// What is the same with every request is written down now and then; whoever reads the log is no faster than a disk.
    let failureLog: LogThrottle<[String]>
    /// From a request to its answer.
    let deadline: Duration
    let now: @Sendable () -> Timestamp
    let sleep: @Sendable (Duration) async -> Void
    let logger: Logger

    /// - Parameters:
    ///   - apple: nil where nobody may be asked; then that source is passed over.
    ///   - serverAPI: the same.
    ///   - stored: nil where nothing is remembered; then that source is passed over.
    ///   - lastGood: nil where Apple's answers are not kept.
    ///   - observations: its revocations are shared with whoever else learns of some.
    ///   - deadline: from a request to its answer.
    ///   - sleep: passes the time before a renewal that is due is asked for once more.
    init(
        decoder: ReceiptDecoder, apps: AppRegistry, apple: VerifyReceiptSource?, serverAPI: ServerAPISource?,
        stored: StoreSource?, lastGood: ResponseArchive?, observations: UpstreamObservations, replays: ReplayDetector,
        renderer: VerifyReceiptRenderer, counts: ProxyMetrics, countedApps: AppMetricsRegistry, deadline: Duration,
        now: @escaping @Sendable () -> Timestamp, sleep: @escaping @Sendable (Duration) async -> Void, logger: Logger
    ) {
        self.decoder = decoder
        self.apps = apps
        self.apple = apple
        self.serverAPI = serverAPI
        self.stored = stored
        self.lastGood = lastGood
        memory = stored != nil && apps.contains(where: { $0.answer.first == .stored }) ? ResponseCache() : nil
        self.counts = counts
        self.countedApps = countedApps
        failureLog = LogThrottle()
        probe = RepairSampler(decoder: decoder, counts: counts)
        self.observations = observations
        self.replays = replays
        self.renderer = renderer
        self.deadline = deadline
        self.now = now
        self.sleep = sleep
        self.logger = logger
    }

    /// How a request is asked about, where it is not a client's.
    package struct RequestOptions: Sendable {
        /// In place of the app's `answer`.
        package var sources: [AnswerSource]?
        /// Whose calls to the App Store Server API these are.
        package var priority = HourlyBudget.Priority.live
        /// Nothing of moments ago will do.
        package var isFresh = false
        /// Who asks, where the caller says so.
        package var user: Redacted<String>?

        package init(
            sources: [AnswerSource]? = nil, priority: HourlyBudget.Priority = .live, isFresh: Bool = false
        ) {
            self.sources = sources
            self.priority = priority
            self.isFresh = isFresh
        }
    }

    /// - Parameter sources: asked instead of the app's `answer`, where given.
    package func answer(
        body: [UInt8], route: UpstreamRouter.Route, sources: [AnswerSource]?
    ) async -> VerifyReceiptResult {
        await answer(body: body, route: route, requestOptions: RequestOptions(sources: sources))
    }

    package func answer(
        body: [UInt8], route: UpstreamRouter.Route, requestOptions: RequestOptions = RequestOptions()
    ) async -> VerifyReceiptResult {
        guard requestOptions.priority == .live else { return await reply(to: body, on: route, requestOptions) }
        let begin = ContinuousClock.now
        let reply = await reply(to: body, on: route, requestOptions)
        count(reply)
        counts.took(.now - begin, for: reply)
        return reply
    }

    /// Counts a verdict that went out; the walk's own are counted already.
    package func count(_ reply: VerifyReceiptResult) { countedApps[reply.claimedApp].answered(reply) }

    /// The request as it is understood here.
    package func read(_ body: [UInt8]) throws(VerifyReceiptRequest.Failure) -> VerifyReceiptRequest {
        try VerifyReceiptRequest(body: body, profile: decoder.profile)
    }

    private func reply(to body: [UInt8], on route: UpstreamRouter.Route, _ requestOptions: RequestOptions) async
        -> VerifyReceiptResult
    {
        let memoryKey =
            requestOptions.sources == nil && requestOptions.user == nil && memory != nil
            ? ResponseCache.key(body, route) : nil
        if let memoryKey {
            let reply = await cachedResponse(memoryKey)
            counts.answerMemory.add((reply == nil ? HitLabel.miss : .hit).rawValue)
            if let reply { return reply }
        }
        var request: VerifyReceiptRequest
        do throws(VerifyReceiptRequest.Failure) {
            request = try read(body)
        } catch {
            logger.debug("request refused", metadata: ["reason": "\(error.rawValue)"])
            return VerifyReceiptResult(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        let verification = verification(of: request, requestOptions)
        if case .rejected = verification, !request.hasBase64Text {
            logger.debug("request refused", metadata: ["reason": "receiptNotBase64"])
            return VerifyReceiptResult(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        switch apps.treatment(of: verification) {
        case .refused(let status):
            return VerifyReceiptResult(
                .failure(status), source: .receipt, environment: verification.environment(on: route))
        case .app(let app):
            let ruled = receiptForRules(of: app, verification, in: request, requestOptions)
            let isReplay = ruled.map {
                self.isReplay($0.contents.lookupKeys, in: AppScope(of: $0), of: app, requestOptions)
            }
            if isReplay == true, app.replay == .refuse {
                return VerifyReceiptResult(
                    .failure(.notAuthentic), source: .receipt, environment: verification.environment(on: route))
            }
            // While Apple is asked, a body is in memory once.
            request.dropText()
            var reply = await RequestEvaluation(
                request: request, route: route, verification: verification, receiptForRules: ruled,
                isReplay: isReplay ?? false, app: app, requestOptions: requestOptions,
                memoryKey: memoryKey, now: now(), deadline: RequestDeadline(deadline), pipeline: self
            ).answer()
            if case .authentic(let receipt) = verification { reply.authenticApp = receipt.bundleId }
            reply.claimedApp = app.bundleId
            return reply
        }
    }

    private func verification(of request: VerifyReceiptRequest, _ requestOptions: RequestOptions) -> ReceiptVerification
    {
        let text = request.receiptText.reveal()
        let verification = ReceiptVerification(of: text.span, by: decoder)
        if case .rejected(let error, _) = verification, requestOptions.priority == .live {
            probe?.sample(at: text, refusedFor: error, at: now())
        }
        return verification
    }

    /// What an app's rules are judged on before any source is asked: the receipt, also with bytes behind it that the
    /// profile refuses. Nil if nothing is authentic.
    private func receiptForRules(
        of app: AppConfiguration, _ verification: ReceiptVerification, in request: VerifyReceiptRequest,
        _ requestOptions: RequestOptions
    ) -> Receipt? {
        switch verification {
        case .authentic(let receipt): return receipt
        case .rejected(let error, _):
            guard app.sandbox == .deny || app.testers != nil || (requestOptions.user != nil && app.replay != .off)
            else {
                return nil
            }
            let text = request.receiptText.reveal()
            return decoder.receiptBeforeTrailingBytes(of: text.span, refusedFor: error)
        }
    }

    /// Whether the caller's user presents another one's purchase.
    func isReplay(
        _ keys: @autoclosure () -> CustomerIdentifiers, in scope: AppScope, of app: AppConfiguration,
        _ requestOptions: RequestOptions
    )
        -> Bool
    {
        guard let user = requestOptions.user, app.replay != .off else { return false }
        return replays.sees(
            keys(), in: scope, of: user, at: now(), logName: apps.logName(of: scope.bundleId), logger: logger)
    }

    /// What the same request was answered with before, where the store still says the same.
    private func cachedResponse(_ key: [UInt8]) async -> VerifyReceiptResult? {
        guard let entry = memory?[key] else { return nil }
        let now = now()
        guard
            let snapshot = await stored?.snapshot(
                on: entry.keys, in: entry.scope, at: now, within: RequestDeadline(deadline).reading(before: 1)),
            snapshot.serial == entry.serial,
            snapshot.isCurrent(at: now, maximumAge: entry.app.storedMaxAge * 1_000),
            let answer = entry.answer.answer(requestDate: now)
        else { return nil }
        var reply = VerifyReceiptResult(answer, source: .stored, environment: entry.scope.environment)
        (reply.authenticApp, reply.claimedApp) = (entry.scope.bundleId, entry.scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// What was seen in the text of a request.
    enum ReceiptVerification: Sendable {
        case authentic(Receipt)
        case rejected(ReceiptDecodingError, UnverifiedReceiptFields)

        init(of text: borrowing Span<UInt8>, by decoder: ReceiptDecoder) {
            do throws(ReceiptDecodingError) {
                self = .authentic(try decoder.decode(text))
            } catch {
                self = .rejected(error, decoder.claims(of: text))
            }
        }

        func environment(on route: UpstreamRouter.Route) -> AppStoreEnvironment {
            switch self {
            case .authentic(let receipt): receipt.environment
            case .rejected: route.environment
            }
        }
    }
}

extension AppScope {
    fileprivate init(of receipt: Receipt) {
        self.init(bundleId: receipt.bundleId, environment: receipt.environment)
    }
}

extension AppRegistry {
    fileprivate enum Decision {
        case app(AppConfiguration)
        case refused(VerifyReceiptStatus)
    }

    /// The bundle id of a receipt that is not authentic chooses the app whose way it goes, and nothing else. What names
    /// no app at all goes the way of unknown ones.
    fileprivate func treatment(of verification: VerifyReceiptService.ReceiptVerification) -> Decision {
        let bundleId: BundleIdentifier?
        let verdict: VerifyReceiptStatus?
        switch verification {
        case .authentic(let receipt): (bundleId, verdict) = (receipt.bundleId, nil)
        case .rejected(let error, let claims): (bundleId, verdict) = (claims.bundleId, error.status)
        }
        switch treatment(of: bundleId) {
        case .app(let app): return .app(app)
        case .refused: return .refused(verdict ?? .notAuthentic)
        }
    }
}

extension UpstreamRouter.Route {
    /// What a verdict is about that names no environment itself.
    package var environment: AppStoreEnvironment {
        switch self {
        case .auto: .production
        case .only(let environment): environment
        }
    }
}
