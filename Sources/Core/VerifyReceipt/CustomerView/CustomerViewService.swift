import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import Logging
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage

/// Answers the requests of new clients: a receipt, a signed text or an id in, the view of its customer out.
///
/// A receipt or a signed text must be authentic before anything in it is used. The records come from the App
/// Store Server API; only a receipt can answer without it.
package struct CustomerViewService: Sendable {
    private let decoder: ReceiptDecoder
    private let verifier: SignedPayloadVerifier
    private let apps: AppRegistry
    private let resolver: AppResolver
    private let serverAPI: ServerAPISource?
    private let stored: RecordsSource
    private let revocations: KnownRevocations
    /// Writes the views as JSON.
    package let renderer: CustomerViewRenderer
    private let deadline: RequestDeadline.Limit
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let logThrottle = LogThrottle<[String]>()
    /// The priority of calls to the App Store Server API.
    private var priority = HourlyBudget.Priority.live

    /// The same service, for a person who waits instead of an app. It leaves the reserve of the rate limit to apps.
    package var onBatchBudget: CustomerViewService {
        var service = self
        service.priority = .batch
        return service
    }

    /// Creates the service of a configuration.
    package init(_ components: ServiceComponents, tables: FieldTables) {
        decoder = ReceiptDecoder(trust: components.decoder.trust, profile: .stored)
        (verifier, apps, serverAPI) = (components.verifier, components.apps, components.serverAPI)
        resolver = components.resolver
        (stored, revocations) = (components.records, components.revocations)
        renderer = CustomerViewRenderer(tables: tables)
        (deadline, now, logger) = (components.deadline, components.now, components.logger)
    }

    /// Returns the view of the customer whose receipt, signed transaction, signed app
    /// transaction or signed renewal the body holds.
    package func view(body: [UInt8]) async throws(OperationError) -> CustomerView {
        switch try CustomerViewRequest(body: body) {
        case .receiptData(let text): try await view(receiptText: text.reveal())
        case .signedTransaction(let text): try await view(signedTransaction: text.reveal())
        case .signedAppTransaction(let text): try await view(signedAppTransaction: text.reveal())
        case .signedRenewalInfo(let text, let bundleId):
            try await view(signedRenewal: text.reveal(), bundleId: bundleId)
        }
    }

    /// Returns the view of the customer who owns a transaction, or to whom an app transaction id belongs.
    ///
    /// - Parameters:
    ///   - bundleId: `nil` for the app that knows the id.
    ///   - environment: for example `Sandbox`; `nil` searches both.
    package func view(
        transactionId: String, bundleId: String?, environment: String? = nil
    ) async throws(OperationError) -> CustomerView {
        guard let id = TransactionIdentifier(rawValue: transactionId) else {
            throw OperationError(.malformedTransactionId, "a transaction id is 1 to 20 digits, not all of them 0")
        }
        let keys = CustomerIdentifiers(originalTransactionIds: [], transactionIds: [id.rawValue])
        let named = try environment.map { text throws(OperationError) in
            guard let environment = AppStoreEnvironment.requested(text) else {
                throw OperationError(.malformedRequest, "environment: expected Production or Sandbox")
            }
            return environment
        }
        let time = RequestDeadline(deadline)
        let app = try await app(named: bundleId, of: id, in: named, time)
        if let named { try check(named, for: app.settings) }
        let customer = try await customer(
            keys, of: app, in: named ?? (app.settings.sandbox == .deny ? .production : nil), time)
        return view(customer, of: app)
    }

    /// Returns the view of a customer of a configured app, from the store if it has the complete history, and otherwise
    /// from the App Store.
    ///
    /// - Parameter identifier: an original transaction id of the customer.
    package func view(
        stored identifier: TransactionIdentifier, in scope: AppScope
    ) async throws(OperationError) -> CustomerView {
        let app = try configured(scope.bundleId.rawValue)
        let keys = CustomerIdentifiers(originalTransactionIds: [identifier.rawValue], transactionIds: [])
        let time = RequestDeadline(deadline)
        if let found = await stored.stored(keys, in: scope, at: now(), within: time.reading(before: 1)) {
            var view = CustomerView(
                bundleId: scope.bundleId, records: found.records, configuredAppAppleId: app.settings.appAppleId,
                verifiedAt: found.freshness.askedAt)
            view.isStored = true
            return view
        }
        return view(try await customer(keys, of: app, in: scope.environment), of: app)
    }

    // MARK: - Receipts

    /// Returns the view by a receipt, in any form that ``ReceiptProfile/stored`` finds it in.
    package func view(receiptText: [UInt8]) async throws(OperationError) -> CustomerView {
        let receipt: Receipt
        do throws(ReceiptDecodingError) {
            receipt = try decoder.decode(receiptText.span)
        } catch {
            guard error.code == .signedTransaction, let signed = decoder.inspect(receiptText.span).signedText else {
                throw OperationError(error)
            }
            return try await view(signed: signed.reveal(), bundleId: nil)
        }
        guard let settings = apps.resolution(of: receipt.bundleId) else { throw AppResolver.unknownApp }
        try check(receipt.environment, for: settings)
        let keys = receipt.contents.orderedLookupKeys
        // The receipt alone is complete: it holds no purchase, or the Server API cannot be called for this app.
        guard !keys.isEmpty, serverAPI?.handles(receipt.bundleId) ?? false else {
            return view(await history(of: receipt), of: receipt, settings)
        }
        let app = ConfiguredApp(bundleId: receipt.bundleId, settings: settings)
        do throws(OperationError) {
            let customer = try await customer(keys, of: app, in: receipt.environment)
            let history = PurchaseHistory(receipt: receipt, records: customer.records)
            return view(customer, of: app, receipt: history.receipt)
        } catch {
            // A failure of the App Store must not hit the customer: the receipt is genuine, and it answers if it cannot
            // be stale.
            let isUnknown = error.code == .transactionNotFound && settings.unknownTransaction == .receipt
            guard isUnknown || error.code.isAppStoreFailure else { throw error }
            let history = await history(of: receipt)
            guard settings.staleSubscription == .answer || !history.receipt.mayBeStale(at: now()) else { throw error }
            return view(history, of: receipt, settings)
        }
    }

    /// The view of the receipt alone, with the revocations recorded since.
    private func view(_ history: PurchaseHistory, of receipt: Receipt, _ settings: AppConfiguration) -> CustomerView {
        CustomerView(
            history: history, bundleId: receipt.bundleId, configuredAppAppleId: settings.appAppleId, verifiedAt: now())
    }

    private func history(of receipt: Receipt) async -> PurchaseHistory {
        let (index, _) = await revocations.revocations(
            of: receipt.contents.purchaseIdentifiers, in: AppScope(of: receipt),
            within: RequestDeadline(deadline).reading(before: 0))
        return PurchaseHistory(receipt: receipt, revocations: index)
    }

    // MARK: - Signed texts

    /// Returns the view by a signed text of any kind.
    ///
    /// - Parameter bundleId: the app of a signed renewal, which does not name it; `nil` for the app that knows it.
    package func view(signed text: String, bundleId: String?) async throws(OperationError) -> CustomerView {
        let claims = JWSInspection.unverifiedClaims(of: text).flatMap { try? JSONObject($0) }
        switch claims.flatMap({ SignedKind($0) }) {
        case .appTransaction: return try await view(signedAppTransaction: text)
        case .renewal: return try await view(signedRenewal: text, bundleId: bundleId)
        case .transaction, .notification, .realTimeRequest, nil: return try await view(signedTransaction: text)
        }
    }

    private func view(signedTransaction text: String) async throws(OperationError) -> CustomerView {
        let transaction = try verified(text, as: TransactionPayload.self)
        let keys = CustomerIdentifiers(
            originalTransactionIds: [transaction.originalTransactionId ?? transaction.transactionId],
            transactionIds: [])
        guard let bundleId = transaction.bundleId, !keys.isEmpty else {
            throw OperationError(.notASignedTransaction, "payload: the bundle id or the transaction id is missing")
        }
        let app = try configured(bundleId)
        let environment = try environment(transaction.environment, for: app)
        return view(try await customer(keys, of: app, in: environment), of: app)
    }

    /// The view by a device's app transaction. Customers without purchases have one too.
    private func view(signedAppTransaction text: String) async throws(OperationError) -> CustomerView {
        let appTransaction = try verified(text, as: AppTransactionPayload.self)
        let keys = CustomerIdentifiers(
            originalTransactionIds: [], transactionIds: [appTransaction.appTransactionId].compactMap(\.self))
        guard let bundleId = appTransaction.bundleId, !keys.isEmpty else {
            throw OperationError(
                .notASignedTransaction, "payload: the bundle id or the app transaction id is missing")
        }
        let app = try configured(bundleId)
        let environment = try environment(appTransaction.receiptType, for: app)
        var customer = try await customer(keys, of: app, in: environment, download: keys.inOrder.first { _ in true })
        customer.appTransaction = customer.appTransaction ?? Signed(payload: appTransaction, text: text)
        return view(customer, of: app)
    }

    /// The view by a signed renewal, which does not name its app. The App Store knows its subscription only in the app
    /// that it belongs to.
    private func view(signedRenewal text: String, bundleId: String?) async throws(OperationError) -> CustomerView {
        let renewal = try verified(text, as: RenewalPayload.self)
        let keys = CustomerIdentifiers(originalTransactionIds: [renewal.originalTransactionId], transactionIds: [])
        guard !keys.isEmpty else {
            throw OperationError(.notASignedTransaction, "payload: the original transaction id is missing")
        }
        let time = RequestDeadline(deadline)
        let signed = renewal.environment.flatMap(AppStoreEnvironment.init(rawValue:))
        let app = try await app(named: bundleId, of: keys.inOrder.first { _ in true }, in: signed, time)
        let environment = try environment(renewal.environment, for: app)
        return view(try await customer(keys, of: app, in: environment, time), of: app)
    }

    private func verified<Payload: SignedClaims>(
        _ text: String, as kind: Payload.Type
    ) throws(OperationError) -> Payload {
        do throws(SignedPayloadError) {
            return try verifier.verify(text, as: kind, now: now()).payload
        } catch {
            throw OperationError(error)
        }
    }

    /// Returns the environment of a signed text. Genuine ones of 2021 name none, but one that a client submits must.
    private func environment(
        _ name: String?, for app: ConfiguredApp
    ) throws(OperationError) -> AppStoreEnvironment {
        guard let environment = name.flatMap(AppStoreEnvironment.init(rawValue:)) else {
            throw OperationError(.unexpectedType, "environment: missing or unknown")
        }
        guard environment != .xcode else { throw OperationError(.notAuthentic, "environment: not accepted") }
        try check(environment, for: app.settings)
        return environment
    }

    // MARK: - Common parts

    /// An app and its configuration.
    private struct ConfiguredApp {
        let bundleId: BundleIdentifier
        let settings: AppConfiguration
    }

    private static let noServerAPI = OperationError(
        .serverAPINotConfigured, "the app's configuration has no serverAPI with issuerId, keyId and privateKey")

    private func configured(_ bundleId: String) throws(OperationError) -> ConfiguredApp {
        guard let bundleId = BundleIdentifier(rawValue: bundleId), let app = apps.configured(bundleId) else {
            throw AppResolver.unknownApp
        }
        return ConfiguredApp(bundleId: bundleId, settings: app)
    }

    /// Throws `sandboxDenied` if the app denies sandbox purchases.
    private func check(_ environment: AppStoreEnvironment, for app: AppConfiguration) throws(OperationError) {
        guard environment == .sandbox, app.sandbox == .deny else { return }
        throw OperationError(.sandboxDenied, "the app denies sandbox purchases")
    }

    /// Returns the app that a request names, otherwise the one that knows the id.
    private func app(
        named bundleId: String?, of id: TransactionIdentifier?, in environment: AppStoreEnvironment?,
        _ time: RequestDeadline
    ) async throws(OperationError) -> ConfiguredApp {
        guard let id else { return try configured(try resolver.app(named: bundleId).rawValue) }
        let app = try await resolver.app(
            named: bundleId, of: .transaction(id), in: environment, priority: priority, within: time.share(before: 1))
        return try configured(app.rawValue)
    }

    /// What the App Store knows of a customer.
    private struct FoundCustomer {
        let records: CustomerRecords
        /// `nil` if there is none, or if it could not be had in time.
        var appTransaction: Signed<AppTransactionPayload>?
    }

    /// Looks the customer up. The download of the app takes one more call, and the view does not depend on it.
    ///
    /// - Parameter download: the app transaction id, if the request was made with it. The history may be empty then.
    private func customer(
        _ keys: CustomerIdentifiers, of app: ConfiguredApp, in environment: AppStoreEnvironment?,
        _ time: RequestDeadline? = nil, download: TransactionIdentifier? = nil
    ) async throws(OperationError) -> FoundCustomer {
        let time = time ?? RequestDeadline(deadline)
        let records: CustomerRecords?
        var failure: UpstreamError?
        do throws(UpstreamError) {
            records = try await serverAPI?.records(
                for: keys, bundleId: app.bundleId, environment: environment, priority: priority,
                within: time.share(before: 0))?.records
        } catch {
            (records, failure) = (nil, error)
        }
        if let records {
            let appTransaction = await serverAPI?.appTransaction(
                of: records, for: keys, bundleId: app.bundleId, environment: environment, priority: priority,
                within: time.share(before: 0))
            return FoundCustomer(records: records, appTransaction: appTransaction)
        }
        guard let failure else { throw Self.noServerAPI }
        // An empty history is also Apple's response to a key of another app. If the same key returns the download, the
        // history is empty indeed.
        if failure.code == .emptyHistory, let download, let environment,
            let known = await serverAPI?.appTransaction(
                download, bundleId: app.bundleId, environment: environment, priority: priority,
                within: time.share(before: 0))
        {
            return FoundCustomer(
                records: .empty(of: app.bundleId.rawValue, known.payload.appAppleId, in: environment),
                appTransaction: known)
        }
        throw logged(failure, of: app)
    }

    /// Converts a failure. One on the App Store's side is logged at most once a minute per app.
    private func logged(_ error: UpstreamError, of app: ConfiguredApp) -> OperationError {
        let failure = OperationError(error)
        if failure.code.httpStatus >= 500, !Task.isCancelled,
            logThrottle.allows([apps.logName(of: app.bundleId)], at: now().sinceEpoch)
        {
            logger.warning(
                "App Store Server API lookup failed",
                metadata: ["bundleId": "\(app.bundleId)", "reason": "\(error)"])
        }
        return failure
    }

    private func view(
        _ customer: FoundCustomer, of app: ConfiguredApp, receipt: ReceiptContents? = nil
    ) -> CustomerView {
        CustomerView(
            bundleId: app.bundleId, records: customer.records, receipt: receipt,
            appTransaction: customer.appTransaction, configuredAppAppleId: app.settings.appAppleId, verifiedAt: now())
    }
}

extension AppStoreEnvironment {
    /// The environment that a request names: `Production` or `Sandbox`, in any case. Returns `nil` for any other text.
    package static func requested(_ text: String) -> AppStoreEnvironment? {
        [production, sandbox].first { $0.rawValue.lowercased() == text.lowercased() }
    }
}

extension CustomerRecords {
    /// The records of a customer without purchases.
    fileprivate static func empty(
        of bundleId: String, _ appAppleId: Int64?, in environment: AppStoreEnvironment
    ) -> CustomerRecords {
        CustomerRecords(
            environment: environment, bundleId: bundleId, appAppleId: appAppleId, transactions: [], subscriptions: [],
            revision: nil)
    }
}
