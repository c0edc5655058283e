import AppStore
import Ledger
import Purchases
import ReceiptDecoding
import Rendering
import StoreTypes

/// An app's own rules: judged on the receipt before any source is asked, and on Apple's answer before it goes back.
///
/// Apple may read a receipt in bytes that are unreadable here, and another one than they claim to be. So its answer decides
/// about them: which app it names, which environment it is from, and whose purchases are in it.
extension VerifyReceiptService.RequestEvaluation {
    /// The refusal before any source is asked.
    func refusal() async -> VerifyReceiptResult? {
        guard app.sandbox == .deny || app.testers != nil else { return nil }
        let claimed: AppStoreEnvironment?
        switch verification {
        case .authentic(let receipt): claimed = receipt.environment
        // Nil is judged on Apple's answer: no other source has one to such a receipt.
        case .rejected(_, let claims): claimed = receiptForRules?.environment ?? claims.environment
        }
        guard claimed == .sandbox || route == .only(.sandbox) else { return nil }
        guard app.sandbox != .deny, let testers = app.testers else {
            return reply(.failure(.notAuthentic), from: .receipt)
        }
        // The source that answers redirects a receipt of the other endpoint (21007, 21008).
        if receiptForRules?.environment == .production { return nil }
        guard let receipt = receiptForRules else { return reply(.failure(.notAuthentic), from: .receipt) }
        switch await isTester(pipeline.observations.lookupKeys(of: receipt), of: receipt.bundleId, among: testers) {
        case true?: return nil
        case false?: return reply(.failure(.notAuthentic), from: .receipt)
        case nil: return unavailable(from: .api)
        }
    }

    /// The refusal of an answer of Apple's; nil if it may go back. Costs nothing if no rule applies.
    ///
    /// - Parameter endpoint: that Apple answered from.
    func refusal(
        of body: [UInt8], _ status: VerifyReceiptStatus, from endpoint: AppStoreEnvironment
    ) async -> VerifyReceiptResult? {
        guard status == .valid || status == .subscriptionExpired,
            pipeline.apps.judgesAnswers || requestOptions.user != nil
        else { return nil }
        let answered = ResponseReceipt(body)
        let isProduction =
            endpoint == .production
            && (answered.environment ?? AppStoreEnvironment.production.rawValue)
                == AppStoreEnvironment.production.rawValue
        let environment: AppStoreEnvironment = isProduction ? .production : .sandbox
        let refused = VerifyReceiptResult(.failure(.notAuthentic), source: .receipt, environment: environment)
        let bundleId = answered.bundleId.map(BundleIdentifier.init(rawValue:)) ?? authenticReceipt?.bundleId
        guard case .app(let app) = treatment(of: answered, bundleId) else { return refused }
        if !isProduction {
            if app.sandbox == .deny { return refused }
            // Judged already on a receipt that says so itself.
            if let testers = app.testers, let bundleId, receiptForRules?.environment != .sandbox {
                switch await isTester(answered.lookupKeys, of: bundleId, among: testers) {
                case true?: break
                case false?: return refused
                case nil: return unavailable(from: .api)
                }
            }
        }
        guard !isReplay else { return nil }
        guard let bundleId else { return requestOptions.user != nil && app.replay == .refuse ? refused : nil }
        let isReplay = pipeline.isReplay(
            answered.lookupKeys, in: AppScope(bundleId: bundleId, environment: environment), of: app, requestOptions)
        return isReplay && app.replay == .refuse ? refused : nil
    }

    /// The app whose rules an answer is judged by.
    ///
    /// - Parameter bundleId: that the answer or else an authentic receipt names; nil also for a text that is no bundle id,
    ///   which no configured app has.
    private func treatment(of answered: ResponseReceipt, _ bundleId: BundleIdentifier?) -> AppRegistry.AppResolution {
        bundleId == nil && answered.bundleId == nil ? pipeline.apps.strictest : pipeline.apps.treatment(of: bundleId)
    }

    /// Whether a 21007 of Apple's production endpoint is followed. A receipt that is authentic here is one of production by
    /// its own word: if Apple's word is a fault, the sandbox says so, and the next source answers.
    var followsToSandbox: Bool { app.sandbox != .deny || authenticReceipt != nil }

    /// Nil if the Server API, which alone knows tokens, has no answer now.
    private func isTester(
        _ keys: CustomerIdentifiers, of bundleId: BundleIdentifier, among testers: SandboxAllowlist
    ) async -> Bool? {
        if testers.contains(keys) { return true }
        guard testers.hasTokens, !keys.isEmpty else { return false }
        do throws(ServerAPIError) {
            let records = try await pipeline.serverAPI?.records(
                for: keys, bundleId: bundleId, environment: .sandbox,
                priority: requestOptions.priority, within: share(before: (requestOptions.sources ?? app.answer)[...]))
            return records.map(testers.contains)
        } catch {
            return error.isUnknownTransaction ? false : nil
        }
    }
}
