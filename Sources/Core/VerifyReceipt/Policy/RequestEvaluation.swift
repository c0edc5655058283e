import ReceiptBridgeBase
import ReceiptBridgeResponses

/// Evaluates requests: asks the sources of the app in the order of ``AnswerPolicy`` until one has a response.
package final class RequestEvaluation: Sendable {
    let sources: ResponseSources
    let rules: AppRules
    let archive: ResponseArchive?
    /// Notified in this order.
    let observers: [any ResponseObserver]
    let logger: RequestLogger

    package init(
        sources: ResponseSources, rules: AppRules, archive: ResponseArchive?, observers: [any ResponseObserver],
        logger: RequestLogger
    ) {
        (self.sources, self.rules, self.archive) = (sources, rules, archive)
        (self.observers, self.logger) = (observers, logger)
    }

    /// A request that one of the app's rules refuses, or that lacks a required password, is answered without asking a
    /// source. Whatever source has a response, the rules decide about it by what it shows.
    package func answer(_ request: ResolvedRequest) async -> SourcedAnswer {
        logger.logUndecodedReceipt(of: request)
        if let refusal = await rules.refusalBeforeSources(of: request) { return refusal }
        let (response, isOfSource) = await response(to: request)
        if let refusal = await rules.refusalOfAnswer(response, to: request) { return refusal }
        if isOfSource { for observer in observers { observer.observe(response, to: request) } }
        return response.withoutOrigin
    }

    /// Returns the first response of a source, otherwise what the client gets without one.
    private func response(to request: ResolvedRequest) async -> (SourcedAnswer, isOfSource: Bool) {
        var policy = AnswerPolicy(sources: request.sources, isAuthentic: request.authenticItem != nil)
        while let turn = policy.next() {
            if let reply = responseToDisconnectedClient(request, turn.firstCall) {
                return (reply, false)
            }
            if turn.prefersArchive, let response = await archive?.response(to: request) { return (response, false) }
            let result = await sources[turn.source].answer(request, on: turn)
            if let response = policy.response(in: result, from: turn.source) { return (response, true) }
        }
        if policy.archiveMayAnswer, !Task.isCancelled, let response = await archive?.response(to: request) {
            return (response, false)
        }
        let reply = responseToDisconnectedClient(request, policy.firstCall) ?? policy.fallback
        return (reply ?? request.unavailable(from: policy.last), false)
    }

    /// `nil` while the client is connected, or if no source made a call.
    ///
    /// The client has disconnected, so no more sources are asked. It is the same error that a connected client would
    /// get, in case the disconnect was a false positive.
    ///
    /// - Parameter source: the first source that makes calls.
    private func responseToDisconnectedClient(_ request: ResolvedRequest, _ source: AnswerSource?) -> SourcedAnswer? {
        guard let source, Task.isCancelled else { return nil }
        return request.unavailable(from: source)
    }
}

extension RequestEvaluation {
    /// - Parameter cache: `nil` if no app names `stored` or `api` first.
    convenience init(
        _ components: ServiceComponents, rules: AppRules, renderer: VerifyReceiptRenderer,
        cache: ResponseCache?
    ) {
        let (serverAPI, observations) = (components.serverAPI, components.observations)
        let logger = RequestLogger(components.logger, apps: components.apps)
        let receipts = ReceiptResponseSource(revocations: observations.revocations, renderer: renderer)
        let archive = components.lastGood
        let observers: [(any ResponseObserver)?] = [
            UpstreamResponseLog(logger: logger),
            AppIdentityRecorder(credentials: components.counts.rejectedCredentials),
            UpstreamResponseRecorder(observations: observations), archive, cache,
        ]
        let api = ServerAPIResponseSource(
            serverAPI: serverAPI, observations: observations, renderer: renderer, receipts: receipts,
            credentials: components.counts.rejectedCredentials, logger: logger, sleep: components.sleep)
        self.init(
            sources: ResponseSources(
                apple: AppleResponseSource(client: components.apple, counts: components.counts, logger: logger),
                api: api,
                stored: StoredResponseSource(
                    records: components.records, serverAPI: serverAPI, api: api, observations: observations,
                    renderer: renderer),
                receipt: receipts),
            rules: rules, archive: archive, observers: observers.compactMap { $0 }, logger: logger)
    }
}
