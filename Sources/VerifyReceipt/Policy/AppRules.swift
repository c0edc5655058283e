import BridgeConfiguration
import AppStorePayloads
import AppStoreClients
import Logging
import ReceiptDecoding
import Responses
import Storage
import AppStoreTypes

/// An app's rules: checked against the receipt before any source is asked, and against Apple's response before it is
/// returned.
///
/// Apple may be able to read a receipt whose bytes are unreadable here, and may find another receipt in them than they
/// claim to be. For such bytes the rules are therefore checked against Apple's response: which app it names, which
/// environment it is from, and which customer's purchases it holds.
package struct AppRules: Sendable {
    let apps: AppRegistry
    let decoder: ReceiptDecoder
    let observations: UpstreamObservations
    /// The only source of an `appAccountToken`; `nil` if there are no network connections.
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

    /// Returns whether the caller's user presents a purchase that another user presented before.
    func isReplay(
        _ keys: @autoclosure () -> CustomerIdentifiers, in scope: AppScope, of app: AppConfiguration,
        _ options: VerifyReceiptService.RequestOptions, within limit: @autoclosure () -> Duration
    ) async -> Bool {
        guard let user = options.user, app.replay != .off else { return false }
        return await replays.detectReplay(
            keys(), in: scope, of: user, at: now(), logName: apps.logName(of: scope.bundleId), logger: logger,
            within: limit())
    }

    /// Returns the refusal by a rule before any source is asked; `nil` if the request may continue.
    func refusal(of request: ResolvedRequest) async -> VerifyReceiptResult? {
        let app = request.app
        guard app.sandbox == .deny || app.testers != nil else { return nil }
        let claimed: AppStoreEnvironment?
        switch request.verification {
        case .authentic(let item): claimed = item.environment
        // If the environment is unknown (`nil`), the rules are checked against Apple's response. No other source
        // answers such a receipt.
        case .rejected(_, let claims): claimed = request.itemForRules?.environment ?? claims.environment
        }
        guard claimed == .sandbox || request.route == .only(.sandbox) else { return nil }
        let refused = request.reply(.failure(.notAuthentic), from: .receipt)
        guard app.sandbox != .deny, let testers = app.testers else { return refused }
        // The source that answers redirects a receipt of the other endpoint (21007, 21008).
        if request.itemForRules?.environment == .production { return nil }
        guard let item = request.itemForRules else { return refused }
        let limit = request.deadline.reading(before: request.sources.count(where: \.needsUpstream))
        let keys = await observations.lookupKeys(of: item, within: limit)
        switch await isTester(keys, of: item.bundleId, among: testers, request) {
        case true?: return nil
        case false?: return refused
        case nil: return request.unavailable(from: .api)
        }
    }

    // MARK: - Apple's response

    /// Returns the refusal of one of Apple's responses; `nil` if it may be returned. Does no work if no rule applies.
    ///
    /// - Parameter endpoint: the endpoint that Apple answered from.
    func refusal(
        of body: [UInt8], _ status: VerifyReceiptStatus, from endpoint: AppStoreEnvironment, to request: ResolvedRequest
    ) async -> VerifyReceiptResult? {
        let options = request.options
        guard status == .valid || status == .subscriptionExpired, apps.checksUpstreamResponses || options.user != nil
        else { return nil }
        let response = try? VerifyReceiptResponse(body)
        let isProduction =
            endpoint == .production
            && (response?.environment ?? AppStoreEnvironment.production.rawValue)
                == AppStoreEnvironment.production.rawValue
        let environment: AppStoreEnvironment = isProduction ? .production : .sandbox
        let refused = VerifyReceiptResult(.failure(.notAuthentic), source: .receipt, environment: environment)
        let bundleId = (response?.bundleId).map(BundleIdentifier.init(rawValue:)) ?? request.authenticReceipt?.bundleId
        guard case .app(let app) = resolution(of: response, bundleId) else { return refused }
        let keys = response?.lookupKeys ?? CustomerIdentifiers([])
        if !isProduction {
            if app.sandbox == .deny { return refused }
            // Skipped if the receipt itself says that it is from the sandbox, because it was checked before.
            if let testers = app.testers, let bundleId, request.itemForRules?.environment != .sandbox {
                switch await isTester(keys, of: bundleId, among: testers, request) {
                case true?: break
                case false?: return refused
                case nil: return request.unavailable(from: .api)
                }
            }
        }
        guard !request.isReplay else { return nil }
        guard let bundleId else { return options.user != nil && app.replay == .refuse ? refused : nil }
        let scope = AppScope(bundleId: bundleId, environment: environment)
        let isReplay = await isReplay(
            keys, in: scope, of: app, options, within: request.deadline.reading(before: 0))
        return isReplay && app.replay == .refuse ? refused : nil
    }

    /// The app whose rules apply to a response.
    ///
    /// - Parameter bundleId: the bundle id of the response, otherwise of an authentic receipt. Also `nil` for a text
    ///   that is no bundle id, which no configured app has.
    private func resolution(
        of response: VerifyReceiptResponse?, _ bundleId: BundleIdentifier?
    ) -> AppRegistry.AppResolution {
        bundleId == nil && response?.bundleId == nil ? apps.strictest : apps.resolution(of: bundleId)
    }

    // MARK: - The sandbox allow list

    /// Returns whether the customer is on the app's sandbox allow list. `nil` if the list holds tokens and the Server
    /// API, the only source of an `appAccountToken`, has no response now.
    private func isTester(
        _ keys: CustomerIdentifiers, of bundleId: BundleIdentifier, among testers: SandboxAllowlist,
        _ request: ResolvedRequest
    ) async -> Bool? {
        if testers.contains(keys) { return true }
        guard testers.hasTokens, !keys.isEmpty else { return false }
        let limit = request.deadline.share(before: request.sources.count(where: \.needsUpstream))
        do throws(ServerAPIError) {
            let records = try await serverAPI?.records(
                for: keys, bundleId: bundleId, environment: .sandbox, priority: request.options.priority, within: limit)
            return records.map(testers.contains)
        } catch {
            return error.isUnknownTransaction ? false : nil
        }
    }
}
