import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// An app's rules: checked against the presented item before any source is asked, and against what the response shows
/// before it is returned.
///
/// An item can say less than the response to it. One signed transaction opens the whole history of its customer. And
/// Apple may be able to read a receipt whose bytes are unreadable here, and may find another receipt in them than they
/// claim to be. So the response decides: which app it is about, which environment it is from, and which customer's
/// purchases it shows.
package final class AppRules: Sendable {
    let apps: AppRegistry
    let decoder: ReceiptDecoder
    let observations: UpstreamObservations
    /// Knows the other purchases of a customer, and each `appAccountToken`; `nil` if there are no network connections.
    let serverAPI: ServerAPISource?
    let replays: ReplayDetector
    let now: @Sendable () -> Timestamp
    let logger: Logger

    package init(_ components: ServiceComponents) {
        apps = components.apps
        decoder = components.decoder
        observations = components.observations
        serverAPI = components.serverAPI
        replays = components.replays
        now = components.now
        logger = components.logger
    }

    // MARK: - The request

    /// The item that an app's rules are checked against before any source is asked: also a receipt with trailing
    /// bytes, which the `apple` profile refuses. `nil` if nothing in the request is authentic.
    func item(
        for app: AppConfiguration, _ verification: ReceiptVerification, in request: VerifyReceiptRequest,
        _ options: VerifyReceiptService.RequestOptions
    ) -> AuthenticItem? {
        switch verification {
        case .authentic(let item): return item
        case .rejected(let error, _):
            guard app.sandbox == .deny || app.testers != nil || (options.user != nil && app.replay != .off) else {
                return nil
            }
            let text = request.receiptText.reveal()
            return decoder.receiptBeforeTrailingBytes(of: text.span, refusedFor: error).map { AuthenticItem($0) }
        }
    }

    /// Returns whether the caller's user presents the purchases of a customer that another user presented before.
    ///
    /// - Parameters:
    ///   - identifiers: see ``ShownPurchases/ownerIdentifiers``.
    ///   - claims: whether the customer is assigned to this user if no other user has it.
    func isReplay(
        _ identifiers: @autoclosure () -> [TransactionIdentifier], in scope: AppScope, of app: AppConfiguration,
        _ options: VerifyReceiptService.RequestOptions, claims: Bool, within limit: @autoclosure () -> Duration
    ) async -> Bool {
        guard let user = options.userDigest, app.replay != .off else { return false }
        return await replays.detectReplay(
            identifiers(), in: scope, of: user, claims: claims, at: now(), logName: apps.logName(of: scope.bundleId),
            logger: logger, within: limit())
    }

    /// Returns the refusal by a rule before any source is asked; `nil` if the request may continue.
    func refusalBeforeSources(of request: ResolvedRequest) async -> SourcedAnswer? {
        let app = request.app
        let claimed: AppStoreEnvironment?
        switch request.verification {
        case .authentic(let item): claimed = item.environment
        // If the environment is unknown (`nil`), the rules are checked against Apple's response. No other source
        // answers such a receipt.
        case .rejected(_, let claims): claimed = request.itemForRules?.environment ?? claims.environment
        }
        if app.sandbox == .deny || app.testers != nil, claimed == .sandbox || request.route == .only(.sandbox),
            app.sandbox == .deny || request.itemForRules == nil
        {
            return request.reply(.failure(.notAuthentic), from: .receipt)
        }
        guard let item = request.itemForRules else { return nil }
        let verdict = await verdict(
            on: ShownPurchases(in: item), of: item.bundleId, app, in: item.environment, to: request)
        // The endpoint is checked before the password: a receipt of the other endpoint is redirected (21007, 21008)
        // with or without one.
        if case .refused(.wrongSharedSecret) = verdict, let redirected = request.misroutedStatus(item) {
            return request.reply(.failure(redirected), from: .receipt)
        }
        return answerForVerdict(verdict, in: item.environment, to: request)
    }

    // MARK: - The response

    /// Returns the refusal of a response that a request would get; `nil` if it may be returned. Every response passes
    /// here, whatever source it is from: what was presented says less than what the response shows.
    func refusalOfAnswer(_ response: SourcedAnswer, to request: ResolvedRequest) async -> SourcedAnswer? {
        guard response.answer.status.promisesReceipt else { return nil }
        guard let purchases = response.purchases, let item = request.authenticItem else {
            return await refusalOfUnreadAnswer(response, to: request)
        }
        let verdict = await verdict(
            on: purchases, of: item.bundleId, request.app, in: item.environment, to: request, response)
        return answerForVerdict(verdict, in: item.environment, to: request)
    }

    /// Returns the refusal of a response of which only the body says what it shows, as Apple's. Does no work if no rule
    /// applies.
    private func refusalOfUnreadAnswer(_ response: SourcedAnswer, to request: ResolvedRequest) async -> SourcedAnswer? {
        let options = request.options
        guard
            apps.checksUpstreamResponses || options.user != nil
                || !request.password.permitsAutoRenewable(fromApple: response.isApples)
        else { return nil }
        let read = try? ResponseDocument(response.answer.body)
        let isProduction =
            response.environment == .production
            && (read?.environment ?? AppStoreEnvironment.production.rawValue)
                == AppStoreEnvironment.production.rawValue
        let environment: AppStoreEnvironment = isProduction ? .production : .sandbox
        let bundleId = (read?.bundleId).map(BundleIdentifier.init(rawValue:)) ?? request.authenticReceipt?.bundleId
        guard let app = resolution(of: read, bundleId) else {
            return answerForVerdict(.refused(.notAuthentic), in: environment, to: request)
        }
        let purchases = ShownPurchases(in: read, to: request.itemForRules)
        let verdict = await verdict(on: purchases, of: bundleId, app, in: environment, to: request, response)
        return answerForVerdict(verdict, in: environment, to: request)
    }

    // MARK: - The verdict

    private enum RuleVerdict {
        case allowed
        /// With 21003 or 21004.
        case refused(VerifyReceiptStatus)
        /// The App Store Server API has no response now, without which the allow list cannot be checked.
        case undecided
    }

    /// - Parameters:
    ///   - bundleId: `nil` if Apple's response names no app. The strictest rules of all apps name no testers.
    ///   - response: the response that shows the purchases; `nil` before any source is asked. Only a response assigns
    ///     them to the caller's user.
    private func verdict(
        on purchases: ShownPurchases, of bundleId: BundleIdentifier?, _ app: AppConfiguration,
        in environment: AppStoreEnvironment, to request: ResolvedRequest, _ response: SourcedAnswer? = nil
    ) async -> RuleVerdict {
        if environment == .sandbox {
            if app.sandbox == .deny { return .refused(.notAuthentic) }
            // An item of the sandbox was checked before any source was asked, with the records of its customer.
            if let testers = app.testers, let bundleId,
                response == nil || request.itemForRules?.environment != .sandbox
            {
                switch await isTester(purchases, of: bundleId, among: testers, request) {
                case true?: break
                case false?: return .refused(.notAuthentic)
                case nil: return .undecided
                }
            }
        }
        if !request.password.permitsAutoRenewable(fromApple: response?.isApples ?? true), purchases.hasAutoRenewable {
            return .refused(.wrongSharedSecret)
        }
        guard response != nil, !request.isReplay else { return .allowed }
        guard let bundleId else {
            return request.options.user != nil && app.replay == .refuse ? .refused(.notAuthentic) : .allowed
        }
        let isReplay = await isReplay(
            purchases.ownerIdentifiers, in: AppScope(bundleId: bundleId, environment: environment), of: app,
            request.options, claims: true, within: request.deadline.reading(before: 0))
        return isReplay && app.replay == .refuse ? .refused(.notAuthentic) : .allowed
    }

    private func answerForVerdict(
        _ verdict: RuleVerdict, in environment: AppStoreEnvironment, to request: ResolvedRequest
    ) -> SourcedAnswer? {
        let answer: Answer
        switch verdict {
        case .allowed: return nil
        case .undecided: return request.unavailable(from: .api)
        case .refused(.wrongSharedSecret): answer = .wrongSharedSecret(environment: environment)
        case .refused(let status): answer = .failure(status)
        }
        return SourcedAnswer(answer, source: .receipt, environment: environment)
    }

    /// The app whose rules apply to a response; `nil` if it is refused.
    ///
    /// - Parameter bundleId: the bundle id of the response, otherwise of an authentic receipt. Also `nil` for a text
    ///   that is no bundle id, which no configured app has.
    private func resolution(of response: ResponseDocument?, _ bundleId: BundleIdentifier?) -> AppConfiguration? {
        bundleId == nil && response?.bundleId == nil ? apps.strictest : apps.resolution(of: bundleId)
    }

    // MARK: - The sandbox allow list

    /// Returns whether a customer is on the app's sandbox allow list. What was presented or shown need not name the
    /// tester, so the customer's records are looked up if it does not. `nil` if the Server API has no response now.
    private func isTester(
        _ purchases: ShownPurchases, of bundleId: BundleIdentifier, among testers: SandboxAllowlist,
        _ request: ResolvedRequest
    ) async -> Bool? {
        let laterCalls = request.sources.count(where: \.needsUpstream)
        var keys = purchases.lookupKeys
        if let item = purchases.presented {
            keys = await observations.lookupKeys(of: item, within: request.deadline.reading(before: laterCalls))
        }
        if testers.contains(keys) { return true }
        guard !keys.isEmpty, testers.hasTokens || serverAPI?.handles(bundleId) ?? false else { return false }
        do throws(UpstreamError) {
            let records = try await serverAPI?.records(
                for: keys, bundleId: bundleId, environment: .sandbox, priority: request.options.priority,
                within: request.deadline.share(before: laterCalls))
            return (records?.records).map(testers.contains)
        } catch {
            return error.isUnknownTransaction || error.code == .emptyHistory ? false : nil
        }
    }
}

extension SandboxAllowlist {
    func contains(_ keys: CustomerIdentifiers) -> Bool {
        (keys.originalTransactionIds + keys.transactionIds).contains { identifiers.contains($0.rawValue) }
    }

    func contains(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            let payload = transaction.payload
            return [payload.transactionId, payload.originalTransactionId, payload.appTransactionId].contains { id in
                id.map(identifiers.contains) ?? false
            } || payload.appAccountToken.map { tokens.contains($0.lowercased()) } ?? false
        }
    }
}
