import AppStore
import Ledger
import Logging
import Purchases
import ReceiptDecoding
import Rendering
import StoreTypes

extension VerifyReceiptService {
    /// One request on its way through the sources of its app.
    struct RequestEvaluation {
        let request: VerifyReceiptRequest
        let route: UpstreamRouter.Route
        let verification: ReceiptVerification
        /// What the app's rules are judged on; no answer is made of it.
        let receiptForRules: Receipt?
        /// One of its purchases was another user's before.
        let isReplay: Bool
        let app: AppConfiguration
        let requestOptions: RequestOptions
        /// Of the request, where its answer may be given again.
        let memoryKey: [UInt8]?
        let now: Timestamp
        let deadline: RequestDeadline
        let pipeline: VerifyReceiptService

        /// A source's word: a verdict, or why the next one is asked.
        enum SourceResult {
            case answered(VerifyReceiptResult)
            /// `fallback` goes back if nothing else answers.
            case unavailable(fallback: VerifyReceiptResult)
            /// Nothing is left behind: it was only looked whether the answer is at hand.
            case notAttempted
            /// The same, and the receipt alone is not to answer.
            case requiresUpstream(fallback: VerifyReceiptResult)
        }

        func answer() async -> VerifyReceiptResult {
            logUndecodedReceipt()
            if let refusal = await refusal() { return refusal }
            let password = SharedSecretCheck(
                request.password, for: app, hasAutoRenewable: authenticReceipt?.contents.hasAutoRenewable ?? false)
            if case .missing = password {
                // The other endpoint's receipt is sent there first, with a password or without.
                if let redirected = authenticReceipt.flatMap(misroutedStatus) {
                    return reply(.failure(redirected), from: .receipt)
                }
                return reply(.wrongSharedSecret(environment: environment), from: .receipt)
            }
            let sources = requestOptions.sources ?? app.answer
            var fallback: VerifyReceiptResult?
            var receiptMayAnswer = true
            var appleIsSilent = false
            for (index, source) in sources.enumerated() where source != .receipt || receiptMayAnswer {
                if let reply = responseForDisconnectedClient(sources[...index]) { return reply }
                if source == .receipt, appleIsSilent, !sources[index...].contains(where: \.asks),
                    let reply = await lastGood(password)
                {
                    return reply
                }
                let result: SourceResult
                switch source {
                case .apple: result = await askApple(password, within: share(before: sources[(index + 1)...]))
                case .api: result = await askServerAPI(password, within: share(before: sources[(index + 1)...]))
                case .receipt: result = readReceipt(password, isFallback: index > 0)
                case .stored:
                    result = await readStore(
                        password, isFallback: sources[..<index].contains(where: \.asks),
                        within: deadline.reading(before: sources[(index + 1)...].count(where: \.asks)))
                }
                if source == .apple { appleIsSilent = true }
                switch result {
                case .answered(let reply): return reply
                // That a receipt may be stale is told in our words, whatever Apple's number for its trouble was.
                case .unavailable(let reply):
                    let isOurs = source == .receipt && authenticReceipt != nil
                    fallback = isOurs && fallback?.answer.status.isTemporary ?? true ? reply : fallback ?? reply
                case .notAttempted: continue
                case .requiresUpstream(let reply):
                    fallback = fallback ?? reply
                    receiptMayAnswer = false
                }
            }
            if appleIsSilent, !Task.isCancelled, let reply = await lastGood(password) { return reply }
            return responseForDisconnectedClient(sources[...]) ?? fallback
                ?? unavailable(from: sources.last ?? .receipt)
        }

        /// Nobody waits for the answer of a client that went away; and who only seems gone is not to get another one than
        /// all get who stay.
        private func responseForDisconnectedClient(_ sources: ArraySlice<AnswerSource>) -> VerifyReceiptResult? {
            guard Task.isCancelled, let asked = sources.first(where: \.asks) else { return nil }
            return unavailable(from: asked)
        }

        /// The time of a source that asks.
        func share(before others: ArraySlice<AnswerSource>) -> Duration {
            deadline.share(before: others.count(where: \.asks))
        }

        // MARK: - Sources

        private func askApple(_ password: SharedSecretCheck, within limit: Duration) async -> SourceResult {
            guard let apple = pipeline.apple else { return .unavailable(fallback: unavailable(from: .apple)) }
            var replacement: SharedSecret?
            if case .fine(let secret) = password { replacement = secret }
            let outcome = await apple.answer(
                body: request.forwardedBody(password: replacement), route: route,
                isVerifiedHere: authenticReceipt != nil, followsToSandbox: followsToSandbox, within: limit)
            switch outcome {
            case .pass(let answer, let environment):
                note(answer, from: environment)
                if replacement != nil, answer.status == .wrongSharedSecret { logRejectedSecret(environment) }
                if let refusal = await refusal(of: answer.body, answer.status, from: environment) {
                    return .answered(refusal)
                }
                if let authenticReceipt { record(answer, for: authenticReceipt) }
                if let (archive, question) = lastGoodQuestion(password) {
                    archive.save(answer, to: question, from: environment, at: now)
                }
                return .answered(passed(answer, from: environment))
            case .sandboxDenied:
                return .answered(VerifyReceiptResult(.failure(.notAuthentic), source: .receipt, environment: .sandbox))
            case .unavailable(let last, let environment, let reason, let wasAsked, _):
                // Of a host that is left alone its breaker tells, once.
                log(
                    wasAsked ? .warning : .debug, "Apple has no answer", by: "apple", environment,
                    ["reason": "\(reason)"])
                return .unavailable(fallback: last.map { passed($0, from: environment) } ?? unavailable(from: .apple))
            }
        }

        /// What the Server API told before Apple's other endpoint told something else is asked for anew.
        private func record(_ answer: UpstreamResponse, for receipt: Receipt) {
            let news = pipeline.observations.record(answer, for: receipt)
            guard !news.isEmpty else { return }
            pipeline.serverAPI?.invalidate(
                news, in: AppScope(bundleId: receipt.bundleId, environment: receipt.environment))
        }

        /// What Apple said of the receipt the last time, where that still stands.
        private func lastGood(_ password: SharedSecretCheck) async -> VerifyReceiptResult? {
            guard let (archive, question) = lastGoodQuestion(password) else { return nil }
            let found = await archive.answer(
                to: question, on: route, mayBeStale: app.staleSubscription == .answer, at: now,
                within: deadline.reading(before: 0))
            guard let (answer, environment) = found else { return nil }
            // It may be from the time before a rule.
            return await refusal(of: answer.body, answer.status, from: environment)
                ?? VerifyReceiptResult(answer, source: .stored, environment: environment)
        }

        /// Nil where the answer depends on more than can be told, or nothing is kept of the app's.
        private func lastGoodQuestion(_ password: SharedSecretCheck) -> (ResponseArchive, ArchiveKey)? {
            guard let archive = pipeline.lastGood, requestOptions.sources == nil, let receipt = authenticReceipt,
                app.answer.contains(.apple), pipeline.apps.configured(receipt.bundleId) != nil,
                let password = ArchiveKey.Password(request.password, judged: password, for: app)
            else { return nil }
            return (
                archive,
                ArchiveKey(
                    receipt: receipt, excludesOldTransactions: request.excludesOldTransactions, password: password)
            )
        }

        private func readReceipt(_ password: SharedSecretCheck, isFallback: Bool) -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .receipt) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            return read(receipt, isFallback: isFallback)
        }

        private func read(_ receipt: Receipt, isFallback: Bool) -> SourceResult {
            let revocations = pipeline.observations.revocations
            let history = PurchaseHistory(
                receipt: receipt, revocations: revocations.revocations(of: receipt.bundleId, in: receipt.environment))
            if isFallback, app.staleSubscription == .retry, history.receipt.mayBeStale(at: now) {
                return .unavailable(fallback: unavailable(from: .receipt))
            }
            return .answered(answer(history, from: .receipt))
        }

        /// What is kept, written as if the Server API had told it just now. Named before the sources that ask Apple it
        /// answers what is as good as asking; named after them also what is older, where it cannot be stale.
        private func readStore(
            _ password: SharedSecretCheck, isFallback: Bool, within limit: Duration
        ) async -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .stored) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            let keys = pipeline.observations.lookupKeys(of: receipt)
            guard !keys.isEmpty else { return .answered(answer(PurchaseHistory(receipt: receipt), from: .receipt)) }
            let scope = AppScope(bundleId: receipt.bundleId, environment: receipt.environment)
            guard let snapshot = await pipeline.stored?.snapshot(on: keys, in: scope, at: now, within: limit) else {
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

        /// Only what does not change with time alone: an iOS 6 answer may, and what Apple once named for a receipt.
        private func cache(
            _ reply: VerifyReceiptResult, to receipt: Receipt, made snapshot: StoredCustomerSnapshot, in scope: AppScope
        ) {
            let keys = receipt.contents.lookupKeys
            guard let memoryKey, let serial = snapshot.serial, app.answer.first == .stored, !keys.isEmpty,
                let answer = ResponseTemplate(reply.answer, requestDate: now)
            else { return }
            pipeline.memory?.insert(
                .init(
                    app: app, scope: scope, keys: keys, serial: serial, answer: answer,
                    consumables: reply.consumables), for: memoryKey)
        }

        private func askServerAPI(_ password: SharedSecretCheck, within limit: Duration) async -> SourceResult {
            let receipt: Receipt
            switch trusted(password, by: .api) {
            case .success(let authentic): receipt = authentic
            case .failure(let refusal): return refusal.result
            }
            let keys = pipeline.observations.lookupKeys(of: receipt)
            // Nothing was ever bought that somebody could be asked about: the receipt knows it all.
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
                    error.isRefusal ? .debug : .warning, "the Server API has no answer", by: "api",
                    receipt.environment, ["reason": "\(error)"])
                return error.isUnknownTransaction
                    ? unknown(receipt) : .unavailable(fallback: refusal(error, of: receipt))
            }
        }

        /// Before a renewal that is due is asked for once more.
        private static let renewalPause = Duration.milliseconds(500)

        /// Nil where the app has no key.
        private func reply(
            to receipt: Receipt, keys: CustomerIdentifiers, _ password: SharedSecretCheck, isFresh: Bool,
            until end: ContinuousClock.Instant
        ) async throws(ServerAPIError) -> VerifyReceiptResult? {
            guard
                let records = try await pipeline.serverAPI?.records(
                    for: keys, bundleId: receipt.bundleId, environment: receipt.environment, isFresh: isFresh,
                    priority: requestOptions.priority, within: end - .now)
            else { return nil }
            pipeline.observations.revocations.record(records, of: receipt.bundleId)
            guard !receipt.contents.lacksStatus(in: records) else {
                throw ServerAPIError(.statusesMissing, at: "statuses", "nothing of the receipt's subscription")
            }
            let history = PurchaseHistory(receipt: receipt, records: records, configuredAppAppleId: app.appAppleId)
            let reply = answer(history, from: .api, password)
            guard !isFresh, reply.answer.status == .subscriptionExpired, records.mayBeRenewing(at: now),
                end - .now > Self.renewalPause
            else { return reply }
            // The news of a renewal can be minutes behind its due time: once more, before somebody is locked out.
            await pipeline.sleep(Self.renewalPause)
            return (try? await self.reply(to: receipt, keys: keys, password, isFresh: true, until: end)) ?? reply
        }

        /// Authentic, but the Server API does not know it.
        private func unknown(_ receipt: Receipt) -> SourceResult {
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

        /// What keeps a source of ours from answering.
        private struct Refusal: Error {
            let result: SourceResult
        }

        /// The receipt, if it is authentic, came to its own endpoint, and without a wrong password that it needs right: what
        /// every source but Apple's own endpoint needs.
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

        /// - Parameter password: nil for an answer of the receipt alone, which holds nothing that a password protects, or
        ///   needed the right one.
        private func answer(
            _ history: PurchaseHistory, from source: AnswerSource, _ password: SharedSecretCheck? = nil
        ) -> VerifyReceiptResult {
            let options = AnswerOptions(
                excludesOldTransactions: request.excludesOldTransactions,
                latestReceiptInfoOrder: app.latestReceiptInfoOrder, omitsLatest: password?.omitsLatest ?? false)
            var reply = reply(
                pipeline.renderer.answer(history: history, requestDate: now, options: options), from: source)
            reply.consumables = history.records?.consumables ?? []
            return reply
        }

        // MARK: - Rules

        var authenticReceipt: Receipt? {
            if case .authentic(let receipt) = verification { receipt } else { nil }
        }

        var environment: AppStoreEnvironment { verification.environment(on: route) }

        /// 21007 and 21008, where the client named an endpoint.
        private func misroutedStatus(_ receipt: Receipt) -> VerifyReceiptStatus? {
            guard case .only(let environment) = route, environment != receipt.environment else { return nil }
            return environment == .production ? .sandboxReceipt : .productionReceipt
        }

        // MARK: - Replies

        func reply(_ answer: VerifyReceiptAnswer, from source: AnswerSource) -> VerifyReceiptResult {
            VerifyReceiptResult(answer, source: source, environment: environment)
        }

        private func passed(_ answer: UpstreamResponse, from environment: AppStoreEnvironment) -> VerifyReceiptResult {
            VerifyReceiptResult(
                VerifyReceiptAnswer(status: answer.status, body: answer.body), source: .apple, environment: environment)
        }

        func unavailable(from source: AnswerSource) -> VerifyReceiptResult {
            reply(.temporarilyUnavailable(isRetryable: true), from: source)
        }
    }
}

extension ReceiptContents {
    /// Whether an answer would have to say where a subscription stands that the statuses do not tell of.
    fileprivate func lacksStatus(in records: CustomerRecords) -> Bool {
        if case .transaction(let receipt) = self { receipt.lacksStatus(in: records) } else { false }
    }
}
