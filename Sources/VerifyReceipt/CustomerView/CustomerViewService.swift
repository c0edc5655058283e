import AppStorePayloads
import AppStoreClients
import BridgeConfiguration
import ConcurrencySupport
import JSON
import Logging
import Responses
import ReceiptDecoding
package import AppStoreTypes

/// Answers the requests of new clients: a receipt, a signed transaction or an id in, the JSON view of its customer out.
///
/// A receipt or a signed transaction must be authentic before anything in it is used. The records come from the App
/// Store Server API; only a receipt can answer without it.
package struct CustomerViewService: Sendable {
    private let decoder: ReceiptDecoder
    private let verifier: SignedPayloadVerifier
    private let apps: AppRegistry
    private let serverAPI: ServerAPISource?
    private let revocations: RevocationCache
    private let renderer: CustomerViewRenderer
    private let deadline: Duration
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let logThrottle = LogThrottle<[String]>()

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - serverAPI: `nil` if there are no network connections.
    ///   - revocations: shared with the other services, which add to it.
    ///   - deadline: the time for one request.
    init(
        decoder: ReceiptDecoder, verifier: SignedPayloadVerifier, apps: AppRegistry, serverAPI: ServerAPISource?,
        revocations: RevocationCache, renderer: CustomerViewRenderer, deadline: Duration,
        now: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        self.decoder = decoder
        self.verifier = verifier
        self.apps = apps
        self.serverAPI = serverAPI
        self.revocations = revocations
        self.renderer = renderer
        self.deadline = deadline
        self.now = now
        self.logger = logger
    }

    /// Returns the view, as JSON, of the customer whose receipt or signed transaction the body holds.
    package func view(body: [UInt8]) async throws(CustomerViewError) -> [UInt8] {
        switch try CustomerViewRequest(body: body) {
        case .receiptData(let text): try await view(receiptText: text.reveal())
        case .signedTransaction(let text): try await view(signedTransaction: text.reveal())
        }
    }

    /// Returns the view of the customer who owns a transaction. Both environments are searched.
    ///
    /// - Parameter bundleId: may be `nil` if exactly one app is configured.
    package func view(transactionId: String, bundleId: String?) async throws(CustomerViewError) -> [UInt8] {
        guard let id = TransactionIdentifier(rawValue: transactionId) else {
            throw CustomerViewError(.malformedTransactionId, "a transaction id is 1 to 20 digits, not all of them 0")
        }
        let app: ConfiguredApp
        if let bundleId {
            app = try configured(bundleId)
        } else {
            guard !apps.isEmpty else { throw Self.unknownApp }
            guard let only = apps.only else {
                throw CustomerViewError(.bundleIdRequired, "bundleId is needed unless exactly one app is configured")
            }
            app = ConfiguredApp(bundleId: only.bundleId, settings: only.app)
        }
        let keys = CustomerIdentifiers(originalTransactionIds: [], transactionIds: [id.rawValue])
        let records = try await records(for: keys, of: app, in: app.settings.sandbox == .deny ? .production : nil)
        return render(records, of: app)
    }

    // MARK: - Receipts

    private func view(receiptText: [UInt8]) async throws(CustomerViewError) -> [UInt8] {
        let receipt: Receipt
        do throws(ReceiptDecodingError) {
            receipt = try decoder.decode(receiptText.span)
        } catch {
            throw CustomerViewError(error)
        }
        guard case .app(let settings) = apps.resolution(of: receipt.bundleId) else { throw Self.unknownApp }
        try check(receipt.environment, for: settings)
        let keys = receipt.contents.orderedLookupKeys
        // The receipt alone is complete: it holds no purchase, or the Server API cannot be called for this app.
        guard !keys.isEmpty, serverAPI?.handles(receipt.bundleId) ?? false else { return view(receipt, settings) }
        let app = ConfiguredApp(bundleId: receipt.bundleId, settings: settings)
        do throws(CustomerViewError) {
            let records = try await records(for: keys, of: app, in: receipt.environment)
            return render(records, of: app, receipt: PurchaseHistory(receipt: receipt, records: records).receipt)
        } catch {
            // A failure of the App Store must not hit the customer: the receipt is genuine, and it answers if it cannot
            // be stale.
            let isUnknown = error.code == .transactionNotFound && settings.unknownTransaction == .receipt
            guard isUnknown || error.code.isAppStoreFailure,
                settings.staleSubscription == .answer || !history(of: receipt).receipt.mayBeStale(at: now())
            else { throw error }
            return view(receipt, settings)
        }
    }

    /// The view of the receipt alone, with the revocations recorded since.
    private func view(_ receipt: Receipt, _ settings: AppConfiguration) -> [UInt8] {
        renderer.render(
            CustomerView(
                history: history(of: receipt), bundleId: receipt.bundleId, configuredAppAppleId: settings.appAppleId,
                verifiedAt: now()))
    }

    private func history(of receipt: Receipt) -> PurchaseHistory {
        PurchaseHistory(
            receipt: receipt, revocations: revocations.revocations(of: receipt.bundleId, in: receipt.environment))
    }

    // MARK: - Signed transactions

    private func view(signedTransaction text: String) async throws(CustomerViewError) -> [UInt8] {
        let transaction: TransactionPayload
        do throws(SignedPayloadError) {
            transaction = try verifier.verify(text, as: TransactionPayload.self, now: now()).payload
        } catch {
            throw CustomerViewError(error)
        }
        let keys = CustomerIdentifiers(
            originalTransactionIds: [transaction.originalTransactionId ?? transaction.transactionId],
            transactionIds: [])
        guard let bundleId = transaction.bundleId, !keys.isEmpty else {
            throw CustomerViewError(.notASignedTransaction, "payload: the bundle id or the transaction id is missing")
        }
        // Genuine signed transactions of 2021 name no environment, but one that a client submits must.
        guard let environment = transaction.environment.flatMap(AppStoreEnvironment.init(rawValue:)),
            environment != .xcode
        else { throw CustomerViewError(.notAuthentic, "environment: missing or not accepted") }
        let app = try configured(bundleId)
        try check(environment, for: app.settings)
        return render(try await records(for: keys, of: app, in: environment), of: app)
    }

    // MARK: - Parts of all three

    /// An app and its configuration.
    private struct ConfiguredApp {
        let bundleId: BundleIdentifier
        let settings: AppConfiguration
    }

    private static let unknownApp = CustomerViewError(.unknownApp, "no such app is configured")

    private func configured(_ bundleId: String) throws(CustomerViewError) -> ConfiguredApp {
        guard let bundleId = BundleIdentifier(rawValue: bundleId), let app = apps.configured(bundleId) else {
            throw Self.unknownApp
        }
        return ConfiguredApp(bundleId: bundleId, settings: app)
    }

    /// Throws `sandboxDenied` if the app denies sandbox purchases.
    private func check(_ environment: AppStoreEnvironment, for app: AppConfiguration) throws(CustomerViewError) {
        guard environment == .sandbox, app.sandbox == .deny else { return }
        throw CustomerViewError(.sandboxDenied, "the app denies sandbox purchases")
    }

    /// Looks the customer up, and records the revocations. A failure on the App Store's side is logged at most once a
    /// minute per app.
    private func records(
        for keys: CustomerIdentifiers, of app: ConfiguredApp, in environment: AppStoreEnvironment?
    ) async throws(CustomerViewError) -> CustomerRecords {
        do throws(ServerAPIError) {
            if let records = try await serverAPI?.records(
                for: keys, bundleId: app.bundleId, environment: environment,
                within: RequestDeadline(deadline).share(before: 0))
            {
                revocations.record(records, of: app.bundleId)
                return records
            }
        } catch {
            let failure = CustomerViewError(error, now: now())
            if failure.code.httpStatus >= 500,
                logThrottle.allows([apps.logName(of: app.bundleId)], at: now().sinceEpoch)
            {
                logger.warning(
                    "App Store Server API lookup failed",
                    metadata: ["bundleId": "\(app.bundleId)", "reason": "\(error)"])
            }
            throw failure
        }
        throw CustomerViewError(
            .serverAPINotConfigured, "the app's configuration has no serverAPI with issuerId, keyId and privateKey")
    }

    private func render(_ records: CustomerRecords, of app: ConfiguredApp, receipt: ReceiptContents? = nil) -> [UInt8] {
        renderer.render(
            CustomerView(
                bundleId: app.bundleId, records: records, receipt: receipt,
                configuredAppAppleId: app.settings.appAppleId, verifiedAt: now()))
    }
}

/// The body of `POST /v1/receipts`: exactly one of two keys. Other keys are ignored.
///
/// ```
/// { "receiptData": base64 }    { "signedTransaction": "eyJ…" }
/// ```
package enum CustomerViewRequest: Sendable {
    /// A receipt file of an app, in base64.
    case receiptData(Redacted<[UInt8]>)
    /// A signed transaction (JWS) of StoreKit 2.
    case signedTransaction(Redacted<String>)

    /// Parses a body.
    ///
    /// - Throws: `malformedRequest`.
    package init(body: [UInt8]) throws(CustomerViewError) {
        let receipt: String?
        let transaction: String?
        do {
            let object = try JSONObject(body)
            (receipt, transaction) = (try object.text("receiptData"), try object.text("signedTransaction"))
        } catch let error as JSONFieldError {
            throw CustomerViewError(.malformedRequest, "\(error)")
        } catch {
            throw CustomerViewError(.malformedRequest, "the body is not a JSON object")
        }
        switch (receipt, transaction) {
        case (let receipt?, nil) where !receipt.isEmpty: self = .receiptData(Redacted(Array(receipt.utf8)))
        case (nil, let transaction?) where !transaction.isEmpty: self = .signedTransaction(Redacted(transaction))
        default:
            throw CustomerViewError(
                .malformedRequest, "exactly one of receiptData and signedTransaction is required, and must not be empty"
            )
        }
    }
}
