import AppStoreClients
import Storage
import Responses
import ReceiptDecoding
import AppStoreTypes

/// An app's rules: checked against the receipt before any source is tried, and against Apple's response before it is
/// returned.
///
/// Apple may be able to read a receipt whose bytes are unreadable here, and may find another receipt in them than they
/// claim to be. For such bytes the rules are therefore checked against Apple's response: which app it names, which
/// environment it is from, and which customer's purchases it holds.
extension VerifyReceiptService.RequestEvaluation {
    /// Returns the refusal by a rule before any source is tried; `nil` if the request may continue.
    func refusal() async -> VerifyReceiptResult? {
        guard app.sandbox == .deny || app.testers != nil else { return nil }
        let claimed: AppStoreEnvironment?
        switch verification {
        case .authentic(let receipt): claimed = receipt.environment
        // If the environment is unknown (`nil`), the rules are checked against Apple's response. No other source
        // answers such a receipt.
        case .rejected(_, let claims): claimed = receiptForRules?.environment ?? claims.environment
        }
        guard claimed == .sandbox || route == .only(.sandbox) else { return nil }
        guard app.sandbox != .deny, let testers = app.testers else {
            return reply(.failure(.notAuthentic), from: .receipt)
        }
        // The source that answers redirects a receipt of the other endpoint (21007, 21008).
        if receiptForRules?.environment == .production { return nil }
        guard let receipt = receiptForRules else { return reply(.failure(.notAuthentic), from: .receipt) }
        switch await isTester(service.observations.lookupKeys(of: receipt), of: receipt.bundleId, among: testers) {
        case true?: return nil
        case false?: return reply(.failure(.notAuthentic), from: .receipt)
        case nil: return unavailable(from: .api)
        }
    }

    /// Returns the refusal of one of Apple's responses; `nil` if it may be returned. Does no work if no rule applies.
    ///
    /// - Parameter endpoint: the endpoint that Apple answered from.
    func refusal(
        of body: [UInt8], _ status: VerifyReceiptStatus, from endpoint: AppStoreEnvironment
    ) async -> VerifyReceiptResult? {
        guard status == .valid || status == .subscriptionExpired,
            service.apps.checksUpstreamResponses || requestOptions.user != nil
        else { return nil }
        let response = ResponseReceipt(body)
        let isProduction =
            endpoint == .production
            && (response.environment ?? AppStoreEnvironment.production.rawValue)
                == AppStoreEnvironment.production.rawValue
        let environment: AppStoreEnvironment = isProduction ? .production : .sandbox
        let refused = VerifyReceiptResult(.failure(.notAuthentic), source: .receipt, environment: environment)
        let bundleId = response.bundleId.map(BundleIdentifier.init(rawValue:)) ?? authenticReceipt?.bundleId
        guard case .app(let app) = resolution(of: response, bundleId) else { return refused }
        if !isProduction {
            if app.sandbox == .deny { return refused }
            // Skipped if the receipt itself says that it is from the sandbox, because it was checked before.
            if let testers = app.testers, let bundleId, receiptForRules?.environment != .sandbox {
                switch await isTester(response.lookupKeys, of: bundleId, among: testers) {
                case true?: break
                case false?: return refused
                case nil: return unavailable(from: .api)
                }
            }
        }
        guard !isReplay else { return nil }
        guard let bundleId else { return requestOptions.user != nil && app.replay == .refuse ? refused : nil }
        let isReplay = service.isReplay(
            response.lookupKeys, in: AppScope(bundleId: bundleId, environment: environment), of: app, requestOptions)
        return isReplay && app.replay == .refuse ? refused : nil
    }

    /// The app whose rules apply to a response.
    ///
    /// - Parameter bundleId: the bundle id of the response, otherwise of an authentic receipt. Also `nil` for a text
    ///   that is no bundle id, which no configured app has.
    private func resolution(of response: ResponseReceipt, _ bundleId: BundleIdentifier?) -> AppRegistry.AppResolution {
        bundleId == nil && response.bundleId == nil ? service.apps.strictest : service.apps.resolution(of: bundleId)
    }

    /// Whether a 21007 of Apple's production endpoint is followed to the sandbox endpoint.
    ///
    /// A receipt that is authentic here and says Production is followed even if the app denies the sandbox. If Apple's
    /// 21007 is a fault, the sandbox endpoint returns 21008, and the next source is tried.
    var followsToSandbox: Bool { app.sandbox != .deny || authenticReceipt != nil }

    /// Returns whether the customer is on the app's sandbox allow list. `nil` if the list holds tokens and the Server
    /// API, the only source of an `appAccountToken`, has no response now.
    private func isTester(
        _ keys: CustomerIdentifiers, of bundleId: BundleIdentifier, among testers: SandboxAllowlist
    ) async -> Bool? {
        if testers.contains(keys) { return true }
        guard testers.hasTokens, !keys.isEmpty else { return false }
        do throws(ServerAPIError) {
            let records = try await service.serverAPI?.records(
                for: keys, bundleId: bundleId, environment: .sandbox,
                priority: requestOptions.priority, within: share(before: (requestOptions.sources ?? app.answer)[...]))
            return records.map(testers.contains)
        } catch {
            return error.isUnknownTransaction ? false : nil
        }
    }
}
