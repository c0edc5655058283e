import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Logging
import ReceiptBridgeResponses

/// The source `api`: looks the customer up with the App Store Server API and renders a response from the records.
struct ServerAPIResponseSource: ResponseSource {
    let serverAPI: ServerAPISource?
    let observations: UpstreamObservations
    let renderer: VerifyReceiptRenderer
    /// Answers for a receipt whose transactions the Server API does not know, if the app wants that.
    let receipts: ReceiptResponseSource
    let credentials: RejectedCredentials
    let logger: RequestLogger
    let sleep: @Sendable (Duration) async -> Void

    private static let renewalPause = Duration.milliseconds(500)

    func answer(_ request: ResolvedRequest, on turn: AnswerPolicy.Turn) async -> SourceOutcome {
        let limit = request.deadline.share(before: turn.laterCalls)
        let item: AuthenticItem
        do throws(ResolvedRequest.SourceRefusal) {
            item = try request.trustedItem(for: .api)
        } catch {
            return error.result
        }
        let keys = await observations.lookupKeys(of: item, within: limit)
        guard !keys.isEmpty else { return renderer.completeAnswer(item, to: request) }
        do throws(UpstreamError) {
            let lookup = Lookup(request: request, item: item, keys: keys, end: ContinuousClock.now + limit)
            guard let response = try await response(to: lookup, isFresh: request.options.isFresh) else {
                return .unavailable(fallback: request.unavailable(from: .api))
            }
            credentials.record(.privateKey, of: item.bundleId, isAccepted: true)
            return .answered(response)
        } catch {
            if error.code == .unauthorized {
                credentials.record(.privateKey, of: item.bundleId, isAccepted: false)
            }
            return await result(of: error, item, in: request)
        }
    }

    private struct Lookup: Sendable {
        let request: ResolvedRequest
        let item: AuthenticItem
        let keys: CustomerIdentifiers
        /// The deadline of all calls and pauses.
        let end: ContinuousClock.Instant
    }

    /// Maximum time of a call for an app transaction, without which there is a response too.
    private static let downloadLimit = Duration.seconds(2)

    /// Renders a response from the Server API's records; `nil` if the app has no key.
    ///
    /// - Parameter isFresh: calls the API even if records are at hand.
    private func response(to lookup: Lookup, isFresh: Bool) async throws(UpstreamError) -> SourcedAnswer? {
        let (request, item) = (lookup.request, lookup.item)
        guard
            let found = try await serverAPI?.records(
                for: lookup.keys, bundleId: item.bundleId, environment: item.environment, isFresh: isFresh,
                priority: request.options.priority, within: lookup.end - .now)
        else { return nil }
        let records = found.records
        guard !item.lacksStatus(in: records) else {
            throw UpstreamError(.statusesMissing, at: "statuses", "no status of the receipt's subscription")
        }
        var download: AppTransactionPayload?
        if item.lacksDownload {
            download = await serverAPI?.appTransaction(
                of: records, for: lookup.keys, bundleId: item.bundleId, environment: item.environment,
                within: min(lookup.end - .now, Self.downloadLimit))?.payload
        }
        var response = renderer.response(
            request.history(of: item, records: records, download: download), of: item, to: request, from: .api,
            origin: found.origin)
        guard !isFresh, response.answer.status == .subscriptionExpired, records.mayBeRenewing(at: request.now),
            lookup.end - .now > Self.renewalPause
        else { return response }
        // The record of a renewal can appear minutes after it is due. The API is called a second time before a paying
        // subscriber is locked out.
        await sleep(Self.renewalPause)
        let confirmed = await serverAPI?.confirmed(
            found, for: lookup.keys, in: item.scope, priority: request.options.priority, within: lookup.end - .now)
        if confirmed != nil { return response }
        response.origin = .rendered
        return (try? await self.response(to: lookup, isFresh: true)) ?? response
    }

    private func result(of error: UpstreamError, _ item: AuthenticItem, in request: ResolvedRequest) async
        -> SourceOutcome
    {
        logger.log(
            error.isRefusal || Task.isCancelled ? .debug : .warning,
            "App Store Server API lookup failed; trying the next source",
            by: "api", item.environment, of: request, ["reason": "\(error)"])
        // A history of many pages. The receipt may lack what it says, and the next request finds it.
        if error.code == .inProgress, request.app.staleSubscription == .retry {
            return .requiresUpstream(fallback: request.reply(error.answer(in: item.environment), from: .api))
        }
        guard !error.isUnknownTransaction else { return await resultForUnknownTransaction(of: item, in: request) }
        return .unavailable(fallback: request.reply(error.answer(in: item.environment), from: .api))
    }

    /// The app's `unknownTransaction` decides.
    private func resultForUnknownTransaction(
        of item: AuthenticItem, in request: ResolvedRequest
    ) async -> SourceOutcome {
        switch request.app.unknownTransaction {
        case .accountNotFound:
            let answer = Answer.accountNotFound(environment: request.environment)
            return .requiresUpstream(fallback: request.reply(answer, from: .api))
        case .receipt:
            return switch await receipts.read(item, of: request, isFallback: true) {
            case .answered(let response): .unavailable(fallback: response.withoutOrigin)
            case .unavailable(let reply), .requiresUpstream(let reply): .unavailable(fallback: reply)
            case .notAttempted: .notAttempted
            }
        }
    }
}

extension UpstreamError {
    /// The answer if no other source has one. The receipt is authentic, so it never says the opposite.
    func answer(in environment: AppStoreEnvironment) -> Answer {
        if errorNumber == .accountNotFound { return .accountNotFound(environment: environment) }
        // Our key or our clock is wrong. 21009 is the status that Apple returns for an internal data access error.
        if code == .unauthorized { return .failure(.internalDataAccess) }
        return .temporarilyUnavailable()
    }
}
