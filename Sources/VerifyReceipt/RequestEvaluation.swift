import AppStorePayloads
import AppStoreClients
import Storage
import Logging
import Responses
import ReceiptDecoding
import AppStoreTypes

extension VerifyReceiptService {
    /// Evaluates one request: tries the sources of its app in order until one has a response.
    ///
    /// For example, with `answer: [api, apple, receipt]` the App Store Server API is called first. If it has no
    /// response, Apple's verifyReceipt is called with the time that is left, and if that has none either, the receipt
    /// answers for itself.
    ///
    /// If no source has a response, the first fallback is returned, for example Apple's own 21009. Before that, and
    /// before the source `receipt`, an unavailable Apple is replaced by its last good response from the archive,
    /// because that response may hold renewals which the receipt does not.
    struct RequestEvaluation {
        let request: VerifyReceiptRequest
        let route: UpstreamRouter.Route
        let verification: ReceiptVerification
        /// The receipt that the app's rules are checked against. It is never rendered into a response. `nil` if nothing
        /// in the request is authentic.
        let receiptForRules: Receipt?
        /// Whether one of the receipt's purchases was presented by another user before.
        let isReplay: Bool
        let app: AppConfiguration
        let requestOptions: RequestOptions
        /// The key of this request in the response cache; `nil` if its response must not be cached.
        let cacheKey: [UInt8]?
        let now: Timestamp
        let deadline: RequestDeadline
        let service: VerifyReceiptService

        /// The result of one source: a response, or the reason to try the next source.
        enum SourceResult {
            case answered(VerifyReceiptResult)
            /// The source has no response now. `fallback` is returned if no other source has one.
            case unavailable(fallback: VerifyReceiptResult)
            /// Not attempted: only an immediately available response would have been used.
            case notAttempted
            /// Like ``unavailable(fallback:)``, and the receipt alone must not answer: a source of Apple's denied it.
            case requiresUpstream(fallback: VerifyReceiptResult)
        }

        /// Tries the sources in order and returns the response for the client.
        func answer() async -> VerifyReceiptResult {
            logUndecodedReceipt()
            if let refusal = await refusal() { return refusal }
            let password = SharedSecretCheck(
                request.password, for: app, hasAutoRenewable: authenticReceipt?.contents.hasAutoRenewable ?? false)
            if case .missing = password {
                // The endpoint is checked before the password: a receipt of the other endpoint is redirected (21007,
                // 21008) with or without one.
                if let redirected = authenticReceipt.flatMap(misroutedStatus) {
                    return reply(.failure(redirected), from: .receipt)
                }
                return reply(.wrongSharedSecret(environment: environment), from: .receipt)
            }
            let sources = requestOptions.sources ?? app.answer
            var fallback: VerifyReceiptResult?
            var receiptMayAnswer = true
            var appleIsUnavailable = false
            for (index, source) in sources.enumerated() where source != .receipt || receiptMayAnswer {
                if let reply = responseForDisconnectedClient(sources[...index]) { return reply }
                if source == .receipt, appleIsUnavailable, !sources[index...].contains(where: \.needsUpstream),
                    let reply = await lastGood(password)
                {
                    return reply
                }
                let result: SourceResult
                switch source {
                case .apple: result = await callApple(password, within: share(before: sources[(index + 1)...]))
                case .api: result = await callServerAPI(password, within: share(before: sources[(index + 1)...]))
                case .receipt: result = readReceipt(password, isFallback: index > 0)
                case .stored:
                    result = await readStore(
                        password, isFallback: sources[..<index].contains(where: \.needsUpstream),
                        within: deadline.reading(before: sources[(index + 1)...].count(where: \.needsUpstream)))
                }
                if source == .apple { appleIsUnavailable = true }
                switch result {
                case .answered(let reply): return reply
                // The source `receipt` is unavailable only if the receipt may be stale. That is reported as a retryable
                // 21005 of ours, instead of a temporary status of Apple's such as 21009.
                case .unavailable(let reply):
                    let isOurs = source == .receipt && authenticReceipt != nil
                    fallback = isOurs && fallback?.answer.status.isTemporary ?? true ? reply : fallback ?? reply
                case .notAttempted: continue
                case .requiresUpstream(let reply):
                    fallback = fallback ?? reply
                    receiptMayAnswer = false
                }
            }
            if appleIsUnavailable, !Task.isCancelled, let reply = await lastGood(password) { return reply }
            return responseForDisconnectedClient(sources[...]) ?? fallback
                ?? unavailable(from: sources.last ?? .receipt)
        }

        /// The result for a client that has disconnected; `nil` while the client is connected, or if none of the
        /// sources makes a call.
        ///
        /// The client has disconnected, so stop trying sources. Return the same error a connected client would get, in
        /// case the disconnect was a false positive.
        private func responseForDisconnectedClient(_ sources: ArraySlice<AnswerSource>) -> VerifyReceiptResult? {
            guard Task.isCancelled, let source = sources.first(where: \.needsUpstream) else { return nil }
            return unavailable(from: source)
        }

        /// The time for one source that makes calls: an equal share of what is left, because each source after it needs
        /// one too.
        func share(before others: ArraySlice<AnswerSource>) -> Duration {
            deadline.share(before: others.count(where: \.needsUpstream))
        }

        // MARK: - Sources

        /// Forwards the request to Apple. The configured secret is sent if the client sent no password, or one of
        /// `acceptedSecrets`.
        private func callApple(_ password: SharedSecretCheck, within limit: Duration) async -> SourceResult {
            guard let apple = service.apple else { return .unavailable(fallback: unavailable(from: .apple)) }
            var replacement: SharedSecret?
            if case .accepted(let secret) = password { replacement = secret }
            let outcome = await apple.answer(
                body: request.forwardedBody(password: replacement), route: route,
                isVerifiedHere: authenticReceipt != nil, followsToSandbox: followsToSandbox, within: limit)
            switch outcome {
            case .pass(let answer, let environment):
                logForwardedStatus(answer, from: environment)
                if replacement != nil, answer.status == .wrongSharedSecret { logRejectedSecret(environment) }
                if let refusal = await refusal(of: answer.body, answer.status, from: environment) {
                    return .answered(refusal)
                }
                if let authenticReceipt { record(answer, for: authenticReceipt) }
                if let (archive, key) = lastGoodKey(password) {
                    archive.save(answer, to: key, from: environment, at: now)
                }
                return .answered(forwarded(answer, from: environment))
            case .sandboxDenied:
                return .answered(VerifyReceiptResult(.failure(.notAuthentic), source: .receipt, environment: .sandbox))
            case .unavailable(let last, let environment, let reason, let wasCalled, _):
                // The circuit breaker logs once when it opens. A request that it refuses is therefore logged at the
                // debug level only.
                log(
                    wasCalled ? .warning : .debug, "Apple's verifyReceipt is unavailable; trying the next source",
                    by: "apple", environment,
                    ["reason": "\(reason)"])
                return .unavailable(
                    fallback: last.map { forwarded($0, from: environment) } ?? unavailable(from: .apple))
            }
        }

        /// Records what Apple's verifyReceipt says about the receipt's purchases. Cached records of the Server API are
        /// invalidated if they contradict it, and are fetched again.
        private func record(_ answer: UpstreamResponse, for receipt: Receipt) {
            let changedIds = service.observations.record(answer, for: receipt)
            guard !changedIds.isEmpty else { return }
            service.serverAPI?.invalidate(
                changedIds, in: AppScope(bundleId: receipt.bundleId, environment: receipt.environment))
        }

        /// Returns Apple's last good response to this request from the response archive; `nil` if there is none or it
        /// no longer holds.
        private func lastGood(_ password: SharedSecretCheck) async -> VerifyReceiptResult? {
            guard let (archive, key) = lastGoodKey(password) else { return nil }
            let archived = await archive.answer(
                to: key, on: route, mayBeStale: app.staleSubscription == .answer, at: now,
                within: deadline.reading(before: 0))
            guard let (answer, environment) = archived else { return nil }
            // The archived response may be older than one of the app's rules.
            return await refusal(of: answer.body, answer.status, from: environment)
                ?? VerifyReceiptResult(answer, source: .stored, environment: environment)
        }

        /// The archive and the key of this request in it. `nil` if the response depends on more than the key holds, or
        /// if no responses of this app are archived.
        private func lastGoodKey(_ password: SharedSecretCheck) -> (ResponseArchive, ArchiveKey)? {
            guard let archive = service.lastGood, requestOptions.sources == nil, let receipt = authenticReceipt,
                app.answer.contains(.apple), service.apps.configured(receipt.bundleId) != nil,
                let password = ArchiveKey.Password(request.password, check: password, for: app)
            else { return nil }
            return (
                archive,
                ArchiveKey(
                    receipt: receipt, excludesOldTransactions: request.excludesOldTransactions, password: password)
            )
        }

        /// The result of the source `receipt`, named first or reached as a fallback.
        private func readReceipt(_ password: SharedSecretCheck, isFallback: Bool) -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .receipt) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            return read(receipt, isFallback: isFallback)
        }

        /// Renders a response from the receipt alone, unless it may be stale and is only a fallback.
        private func read(_ receipt: Receipt, isFallback: Bool) -> SourceResult {
            let revocations = service.observations.revocations
            let history = PurchaseHistory(
                receipt: receipt, revocations: revocations.revocations(of: receipt.bundleId, in: receipt.environment))
            if isFallback, app.staleSubscription == .retry, history.receipt.mayBeStale(at: now) {
                return .unavailable(fallback: unavailable(from: .receipt))
            }
            return .answered(answer(history, from: .receipt))
        }

        /// Renders a response from the stored records of the customer, as if the Server API had just returned them.
        ///
        /// If `stored` comes before the sources that call Apple, only records that are as good as a call are used: no
        /// older than the app's `storedMaxAge`. If it comes after them, older records are used as well, if they cannot
        /// be stale.
        private func readStore(
            _ password: SharedSecretCheck, isFallback: Bool, within limit: Duration
        ) async -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .stored) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            let keys = service.observations.lookupKeys(of: receipt)
            guard !keys.isEmpty else { return .answered(answer(PurchaseHistory(receipt: receipt), from: .receipt)) }
            let scope = AppScope(bundleId: receipt.bundleId, environment: receipt.environment)
            guard let snapshot = await service.stored?.snapshot(of: keys, in: scope, at: now, within: limit) else {
                return .notAttempted
            }
            guard !receipt.contents.lacksStatus(in: snapshot.records) else { return .notAttempted }
            let isLastGood = isFallback && (app.staleSubscription == .answer || !snapshot.mayBeStale(at: now))
            guard snapshot.isCurrent(at: now, maximumAge: app.storedMaxAge * 1_000) || isLastGood else {
                return .notAttempted
            }
            let history = PurchaseHistory(
                receipt: receipt, records: snapshot.records, configuredAppAppleId: app.appAppleId)
            let reply = answer(history, from: .stored, password)
            if !isFallback { cache(reply, to: receipt, made: snapshot, in: scope) }
            return .answered(reply)
        }

        /// Caches a response in which only `request_date` depends on the time. Two kinds are never cached: an iOS 6
        /// response, because it has no such date and its status may change with time alone, and the response to a
        /// receipt without identifiers, because those that Apple once returned for it may change.
        private func cache(
            _ reply: VerifyReceiptResult, to receipt: Receipt, made snapshot: StoredCustomerSnapshot, in scope: AppScope
        ) {
            let keys = receipt.contents.lookupKeys
            guard let cacheKey, let serial = snapshot.serial, app.answer.first == .stored, !keys.isEmpty,
                let answer = ResponseTemplate(reply.answer, requestDate: now)
            else { return }
            service.responseCache?.insert(
                .init(
                    app: app, scope: scope, keys: keys, serial: serial, answer: answer,
                    consumables: reply.consumables), for: cacheKey)
        }

        /// Looks the customer up with the Server API.
        private func callServerAPI(_ password: SharedSecretCheck, within limit: Duration) async -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .api) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            let keys = service.observations.lookupKeys(of: receipt)
            // The receipt holds no purchase that the Server API could be called for, so the receipt alone is complete.
            guard !keys.isEmpty else { return .answered(answer(PurchaseHistory(receipt: receipt), from: .receipt)) }
            do throws(ServerAPIError) {
                guard
                    let reply = try await reply(
                        to: receipt, keys: keys, password, isFresh: requestOptions.isFresh,
                        until: ContinuousClock.now + limit)
                else {
                    return .unavailable(fallback: unavailable(from: .api))
                }
                return .answered(reply)
            } catch {
                log(
                    error.isRefusal ? .debug : .warning, "App Store Server API lookup failed; trying the next source",
                    by: "api",
                    receipt.environment, ["reason": "\(error)"])
                return error.isUnknownTransaction
                    ? resultForUnknownTransaction(of: receipt) : .unavailable(fallback: refusal(error, of: receipt))
            }
        }

        /// The pause before the Server API is called again for a renewal that is due.
        private static let renewalPause = Duration.milliseconds(500)

        /// Renders a response from the Server API's records; `nil` if the app has no key.
        ///
        /// - Parameters:
        ///   - isFresh: calls the API even if records are cached.
        ///   - end: the deadline of all calls and pauses.
        private func reply(
            to receipt: Receipt, keys: CustomerIdentifiers, _ password: SharedSecretCheck, isFresh: Bool,
            until end: ContinuousClock.Instant
        ) async throws(ServerAPIError) -> VerifyReceiptResult? {
            guard
                let records = try await service.serverAPI?.records(
                    for: keys, bundleId: receipt.bundleId, environment: receipt.environment, isFresh: isFresh,
                    priority: requestOptions.priority, within: end - .now)
            else { return nil }
            service.observations.revocations.record(records, of: receipt.bundleId)
            guard !receipt.contents.lacksStatus(in: records) else {
                throw ServerAPIError(.statusesMissing, at: "statuses", "no status of the receipt's subscription")
            }
            let history = PurchaseHistory(receipt: receipt, records: records, configuredAppAppleId: app.appAppleId)
            let reply = answer(history, from: .api, password)
            guard !isFresh, reply.answer.status == .subscriptionExpired, records.mayBeRenewing(at: now),
                end - .now > Self.renewalPause
            else { return reply }
            // The record of a renewal can appear minutes after it is due. The API is called a second time before a
            // paying subscriber is locked out.
            await service.sleep(Self.renewalPause)
            return (try? await self.reply(to: receipt, keys: keys, password, isFresh: true, until: end)) ?? reply
        }

        /// The result for an authentic receipt whose transactions the Server API does not know. The app's
        /// `unknownTransaction` decides.
        private func resultForUnknownTransaction(of receipt: Receipt) -> SourceResult {
            switch app.unknownTransaction {
            case .accountNotFound:
                .requiresUpstream(fallback: reply(.accountNotFound(environment: environment), from: .api))
            case .receipt:
                switch read(receipt, isFallback: true) {
                case .answered(let reply), .unavailable(let reply), .requiresUpstream(let reply):
                    .unavailable(fallback: reply)
                case .notAttempted: .notAttempted
                }
            }
        }

        private func refusal(_ error: ServerAPIError, of receipt: Receipt) -> VerifyReceiptResult {
            reply(error.answer(in: receipt.environment), from: .api)
        }

        /// The reason why a source other than Apple's own endpoint must not answer.
        private struct Refusal: Error {
            let result: SourceResult
        }

        /// Returns the receipt if a source other than Apple's own endpoint may answer with it. The receipt must be
        /// authentic and belong to the requested endpoint. If it holds an auto-renewable, the password must not be
        /// wrong.
        private func trusted(_ password: SharedSecretCheck, by source: AnswerSource) -> Result<Receipt, Refusal> {
            let receipt: Receipt
            switch verification {
            case .authentic(let authentic): receipt = authentic
            case .rejected(let error, _):
                guard let status = error.status else {
                    return .failure(Refusal(result: .unavailable(fallback: unavailable(from: source))))
                }
                return .failure(Refusal(result: .answered(reply(.failure(status), from: .receipt))))
            }
            if let redirected = misroutedStatus(receipt) {
                return .failure(Refusal(result: .answered(reply(.failure(redirected), from: .receipt))))
            }
            if case .wrong = password, receipt.contents.hasAutoRenewable {
                let answer = VerifyReceiptAnswer.wrongSharedSecret(environment: receipt.environment)
                return .failure(Refusal(result: .answered(reply(answer, from: .receipt))))
            }
            return .success(receipt)
        }

        /// Renders a history, with the options of the request and of the app.
        ///
        /// - Parameter password: `nil` for a response from the receipt alone: it either holds nothing that a password
        ///   protects, or ``trusted(_:by:)`` has checked the password already.
        private func answer(
            _ history: PurchaseHistory, from source: AnswerSource, _ password: SharedSecretCheck? = nil
        ) -> VerifyReceiptResult {
            let options = AnswerOptions(
                excludesOldTransactions: request.excludesOldTransactions,
                latestReceiptInfoOrder: app.latestReceiptInfoOrder, omitsLatest: password?.omitsLatest ?? false)
            var reply = reply(
                service.renderer.answer(history: history, requestDate: now, options: options), from: source)
            reply.consumables = history.records?.consumables ?? []
            return reply
        }

        // MARK: - Rules

        var authenticReceipt: Receipt? {
            if case .authentic(let receipt) = verification { receipt } else { nil }
        }

        var environment: AppStoreEnvironment { verification.environment(on: route) }

        /// The status that redirects the client, 21007 or 21008. `nil` if the receipt belongs to the endpoint that the
        /// client named, or if it named none.
        private func misroutedStatus(_ receipt: Receipt) -> VerifyReceiptStatus? {
            guard case .only(let environment) = route, environment != receipt.environment else { return nil }
            return environment == .production ? .sandboxReceipt : .productionReceipt
        }

        // MARK: - Replies

        func reply(_ answer: VerifyReceiptAnswer, from source: AnswerSource) -> VerifyReceiptResult {
            VerifyReceiptResult(answer, source: source, environment: environment)
        }

        /// Apple's response, byte for byte.
        private func forwarded(_ answer: UpstreamResponse, from environment: AppStoreEnvironment) -> VerifyReceiptResult
        {
            VerifyReceiptResult(
                VerifyReceiptAnswer(status: answer.status, body: answer.body), source: .apple, environment: environment)
        }

        /// A 21005 of ours, with `is_retryable`.
        func unavailable(from source: AnswerSource) -> VerifyReceiptResult {
            reply(.temporarilyUnavailable(isRetryable: true), from: source)
        }
    }
}

extension ReceiptContents {
    /// Returns whether a response would need the status of a subscription that the records do not have. This is only
    /// possible for an iOS 6 receipt, because its status says whether the subscription is active.
    fileprivate func lacksStatus(in records: CustomerRecords) -> Bool {
        if case .transaction(let receipt) = self { receipt.lacksStatus(in: records) } else { false }
    }
}
