package import AppStoreClients
import ConcurrencySupport
import Storage
import Logging
import Responses
import ReceiptDecoding
package import AppStoreTypes
import Telemetry

/// Answers verifyReceipt requests, from HTTP and from the command line: one request body in, one response out.
///
/// A request passes these steps, each of which may end it:
///
/// 1. The response cache, if an app names `stored` first.
/// 2. Parsing and decoding: a body that is not JSON, or holds no base64, gets 21002.
/// 3. The app of the receipt: with `unknownApps: refuse` an unknown one gets 21003, or 21002 if the text is no receipt.
/// 4. Replay detection, if the caller names its user.
/// 5. The app's sources, in ``RequestEvaluation``.
package struct VerifyReceiptService: Sendable {
    let decoder: ReceiptDecoder
    let apps: AppRegistry
    let apple: VerifyReceiptSource?
    let serverAPI: ServerAPISource?
    let stored: StoreSource?
    /// The archive of Apple's last good responses; `nil` if they are not archived.
    let lastGood: ResponseArchive?
    let observations: UpstreamObservations
    let replays: ReplayDetector
    /// The cache of rendered responses; `nil` if no app names `stored` first.
    let responseCache: ResponseCache?
    package let counts: ProxyMetrics
    private let countedApps: AppMetricsRegistry
    /// Counts refused receipts that the tolerant profile would have accepted; `nil` if that profile is in use.
    private let repairSampler: RepairSampler?
    let renderer: VerifyReceiptRenderer
    /// Limits log lines about conditions that recur with every request, because the log is no faster than the disk that
    /// stores it.
    let logThrottle: LogThrottle<[String]>
    /// The time from a request to its response.
    let deadline: Duration
    let now: @Sendable () -> Timestamp
    let sleep: @Sendable (Duration) async -> Void
    let logger: Logger

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - apple: `nil` if there are no network connections; then the source `apple` is unavailable.
    ///   - serverAPI: `nil` if there are no network connections; then the source `api` is unavailable.
    ///   - stored: `nil` if there is no store; then the source `stored` is skipped.
    ///   - lastGood: `nil` if Apple's responses are not archived.
    ///   - observations: its revocations are shared with the other services.
    ///   - deadline: the time from a request to its response.
    ///   - sleep: waits before the Server API is called again for a renewal that is due.
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
        responseCache = stored != nil && apps.contains(where: { $0.answer.first == .stored }) ? ResponseCache() : nil
        self.counts = counts
        self.countedApps = countedApps
        logThrottle = LogThrottle()
        repairSampler = RepairSampler(decoder: decoder, counts: counts)
        self.observations = observations
        self.replays = replays
        self.renderer = renderer
        self.deadline = deadline
        self.now = now
        self.sleep = sleep
        self.logger = logger
    }

    /// The options of a request. The defaults are those of a client's request.
    package struct RequestOptions: Sendable {
        /// Replaces the app's `answer`.
        package var sources: [AnswerSource]?
        /// The priority of calls to the App Store Server API.
        package var priority = HourlyBudget.Priority.live
        /// Whether cached records must not be used.
        package var isFresh = false
        /// The caller's name for its user, from the header that `userHeader` names; `nil` if the caller names none.
        /// Replay detection compares it.
        package var user: Redacted<String>?

        /// Creates options.
        package init(
            sources: [AnswerSource]? = nil, priority: HourlyBudget.Priority = .live, isFresh: Bool = false
        ) {
            self.sources = sources
            self.priority = priority
            self.isFresh = isFresh
        }
    }

    /// Answers a request.
    ///
    /// - Parameter sources: tried instead of the app's `answer`; `nil` for the app's own.
    package func answer(
        body: [UInt8], route: UpstreamRouter.Route, sources: [AnswerSource]?
    ) async -> VerifyReceiptResult {
        await answer(body: body, route: route, requestOptions: RequestOptions(sources: sources))
    }

    /// Answers a request. A client's request (priority `live`) is counted and timed.
    package func answer(
        body: [UInt8], route: UpstreamRouter.Route, requestOptions: RequestOptions = RequestOptions()
    ) async -> VerifyReceiptResult {
        guard requestOptions.priority == .live else { return await reply(to: body, on: route, requestOptions) }
        let start = ContinuousClock.now
        let reply = await reply(to: body, on: route, requestOptions)
        count(reply)
        counts.recordDuration(.now - start, for: reply)
        return reply
    }

    /// Counts a response that another part of the server wrote. The responses of ``answer(body:route:requestOptions:)``
    /// are counted already.
    package func count(_ reply: VerifyReceiptResult) { countedApps[reply.claimedApp].recordResponse(reply) }

    /// Parses a request with the profile of this service.
    package func read(_ body: [UInt8]) throws(VerifyReceiptRequest.Failure) -> VerifyReceiptRequest {
        try VerifyReceiptRequest(body: body, profile: decoder.profile)
    }

    /// Answers a request without counting it.
    private func reply(to body: [UInt8], on route: UpstreamRouter.Route, _ requestOptions: RequestOptions) async
        -> VerifyReceiptResult
    {
        let cacheKey =
            requestOptions.sources == nil && requestOptions.user == nil && responseCache != nil
            ? ResponseCache.key(body, route) : nil
        if let cacheKey {
            let reply = await cachedResponse(cacheKey)
            counts.responseCache.add((reply == nil ? HitLabel.miss : .hit).rawValue)
            if let reply { return reply }
        }
        var request: VerifyReceiptRequest
        do throws(VerifyReceiptRequest.Failure) {
            request = try read(body)
        } catch {
            logger.debug("verifyReceipt request rejected with 21002", metadata: ["reason": "\(error.rawValue)"])
            return VerifyReceiptResult(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        let verification = verification(of: request, requestOptions)
        if case .rejected = verification, !request.hasBase64Text {
            logger.debug("verifyReceipt request rejected with 21002", metadata: ["reason": "receiptNotBase64"])
            return VerifyReceiptResult(.failure(.malformedReceipt), source: .receipt, environment: route.environment)
        }
        switch apps.resolution(of: verification) {
        case .refused(let status):
            return VerifyReceiptResult(
                .failure(status), source: .receipt, environment: verification.environment(on: route))
        case .app(let app):
            let ruleReceipt = receiptForRules(of: app, verification, in: request, requestOptions)
            let isReplay = ruleReceipt.map {
                self.isReplay($0.contents.lookupKeys, in: AppScope(of: $0), of: app, requestOptions)
            }
            if isReplay == true, app.replay == .refuse {
                return VerifyReceiptResult(
                    .failure(.notAuthentic), source: .receipt, environment: verification.environment(on: route))
            }
            // The body is in memory only once while Apple is called.
            request.dropText()
            var reply = await RequestEvaluation(
                request: request, route: route, verification: verification, receiptForRules: ruleReceipt,
                isReplay: isReplay ?? false, app: app, requestOptions: requestOptions,
                cacheKey: cacheKey, now: now(), deadline: RequestDeadline(deadline), service: self
            ).answer()
            if case .authentic(let receipt) = verification { reply.authenticApp = receipt.bundleId }
            reply.claimedApp = app.bundleId
            return reply
        }
    }

    /// Decodes and verifies the receipt of a request. A client's refused receipt may be sampled for repairs.
    private func verification(of request: VerifyReceiptRequest, _ requestOptions: RequestOptions) -> ReceiptVerification
    {
        let text = request.receiptText.reveal()
        let verification = ReceiptVerification(of: text.span, by: decoder)
        if case .rejected(let error, _) = verification, requestOptions.priority == .live {
            repairSampler?.sample(at: text, refusedFor: error, at: now())
        }
        return verification
    }

    /// The receipt that an app's rules are checked against before any source is tried: also a receipt with trailing
    /// bytes, which the `apple` profile refuses. `nil` if nothing in the request is authentic.
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

    /// Returns whether the caller's user presents a purchase that another user presented before.
    func isReplay(
        _ keys: @autoclosure () -> CustomerIdentifiers, in scope: AppScope, of app: AppConfiguration,
        _ requestOptions: RequestOptions
    )
        -> Bool
    {
        guard let user = requestOptions.user, app.replay != .off else { return false }
        return replays.detectReplay(
            keys(), in: scope, of: user, at: now(), logName: apps.logName(of: scope.bundleId), logger: logger)
    }

    /// Returns the cached response to the same request; `nil` if there is none, or if the store's records of the
    /// customer have changed or expired since.
    private func cachedResponse(_ key: [UInt8]) async -> VerifyReceiptResult? {
        guard let entry = responseCache?[key] else { return nil }
        let now = now()
        guard
            let snapshot = await stored?.snapshot(
                of: entry.keys, in: entry.scope, at: now, within: RequestDeadline(deadline).reading(before: 1)),
            snapshot.serial == entry.serial,
            snapshot.isCurrent(at: now, maximumAge: entry.app.storedMaxAge * 1_000),
            let answer = entry.answer.answer(requestDate: now)
        else { return nil }
        var reply = VerifyReceiptResult(answer, source: .stored, environment: entry.scope.environment)
        (reply.authenticApp, reply.claimedApp) = (entry.scope.bundleId, entry.scope.bundleId)
        reply.consumables = entry.consumables
        return reply
    }

    /// The outcome of decoding and verifying the text of a request.
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

        /// The environment to report: the receipt's if it is authentic, otherwise the endpoint's.
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
    /// The app whose configuration applies, or the status of the refusal.
    fileprivate enum Decision {
        case app(AppConfiguration)
        case refused(VerifyReceiptStatus)
    }

    /// Chooses the app whose configuration applies to a receipt. The bundle id of a receipt that is not authentic is
    /// used for this and for nothing else. A text that names no app is treated as a receipt of an unknown app.
    fileprivate func resolution(of verification: VerifyReceiptService.ReceiptVerification) -> Decision {
        let bundleId: BundleIdentifier?
        let status: VerifyReceiptStatus?
        switch verification {
        case .authentic(let receipt): (bundleId, status) = (receipt.bundleId, nil)
        case .rejected(let error, let claims): (bundleId, status) = (claims.bundleId, error.status)
        }
        switch resolution(of: bundleId) {
        case .app(let app): return .app(app)
        case .refused: return .refused(status ?? .notAuthentic)
        }
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
