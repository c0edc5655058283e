import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// Verifies signed transactions in `receipt-data`.
///
/// | item | status |
/// |---|---|
/// | an id, or a JWS that is no transaction or has a part that is not base64url | 21002 |
/// | a transaction of an app that is not configured, or whose `signedTransactions` is `refuse` | 21002 |
/// | the signature or the chain fails, or it is Xcode's | 21003 |
/// | a JWS of a form that this version does not know, so that it is not judged | 21005 |
package struct SignedItemVerifier: Sendable {
    let verifier: SignedPayloadVerifier
    let apps: AppRegistry
    let serverAPI: ServerAPISource?
    let hasStore: Bool

    init(_ components: ServiceComponents) {
        verifier = components.verifier
        apps = components.apps
        serverAPI = components.serverAPI
        hasStore = components.records.hasStore
    }

    /// A verified item with what answers it, or the status of the refusal.
    enum ItemOutcome: Sendable {
        case authentic(AuthenticItem, AppConfiguration)
        /// With the failure of a JWS, or its app if that is not configured.
        case refused(VerifyReceiptStatus, SignedPayloadError? = nil, of: BundleIdentifier? = nil)
    }

    func verify(_ item: PresentedItem, at now: Timestamp) -> ItemOutcome {
        guard !apps.isEmpty, case .signedTransaction(let signed) = item else { return .refused(.malformedReceipt) }
        switch Self.item(signed.reveal(), verifier, now) {
        case .refused(let status, let failure): return .refused(status, failure)
        case .authentic(let item):
            guard let app = app(of: item) else {
                return .refused(.malformedReceipt, of: apps.unconfigured(item.bundleId))
            }
            return .authentic(item, app)
        }
    }

    /// The app of an item; `nil` if it is not configured or refuses such items.
    private func app(of item: AuthenticItem) -> AppConfiguration? {
        apps.configured(item.bundleId).flatMap { $0.signedTransactions == .answer ? $0 : nil }
    }

    // MARK: - Signed transactions

    private enum Verification {
        case authentic(AuthenticItem)
        case refused(VerifyReceiptStatus, SignedPayloadError? = nil)
    }

    private static func item(_ text: String, _ verifier: SignedPayloadVerifier, _ now: Timestamp) -> Verification {
        do throws(SignedPayloadError) {
            let signed = try verifier.verify(text, as: PresentedClaims.self, now: now)
            switch signed.payload {
            case .download(let download):
                return verification(AuthenticItem(download), names: download.receiptType)
            case .transaction(let transaction):
                guard transaction.transactionId != nil else { return .refused(.malformedReceipt) }
                let item = AuthenticItem(Signed(payload: transaction, text: signed.text))
                return verification(item, names: transaction.environment)
            }
        } catch {
            switch error.verdict {
            case .notOfThisKind: return .refused(.malformedReceipt, error)
            case .forged, .misplaced: return .refused(.notAuthentic, error)
            case .notJudged: return .refused(.temporarilyUnavailable, error)
            }
        }
    }

    /// A payload that a client presents must name its environment. One without, as of 2021, is authentic but not
    /// judged.
    private static func verification(_ item: AuthenticItem?, names environment: String?) -> Verification {
        if let item { return .authentic(item) }
        if ["Production", "Sandbox"].contains(environment ?? "") { return .refused(.malformedReceipt) }
        return .refused(.temporarilyUnavailable, .namesNoEnvironment)
    }

    // MARK: - Sources

    /// The sources that answer an item in `receipt-data` that is not a receipt: those of the app without `apple`, which
    /// never sees such an item. If neither `api` nor `stored` is left, those that the configuration allows are asked,
    /// and then the item itself.
    func sources(_ named: [AnswerSource], for item: AuthenticItem) -> [AnswerSource] {
        Self.sources(named, hasServerAPI: serverAPI?.handles(item.bundleId) ?? false, hasStore: hasStore)
    }

    /// The same as a value.
    package static func sources(_ named: [AnswerSource], hasServerAPI: Bool, hasStore: Bool) -> [AnswerSource] {
        let own = named.filter { $0 != .apple }
        if own.contains(.api) || own.contains(.stored) { return own }
        return (hasServerAPI ? [.api] : []) + (hasStore ? [.stored] : []) + [.receipt]
    }
}

/// The payload of a JWS in `receipt-data`. An app transaction has a `receiptType`; anything else is read as a
/// transaction.
private enum PresentedClaims: SignedClaims {
    case transaction(TransactionPayload)
    case download(AppTransactionPayload)

    static let kinds = AppTransactionPayload.kinds + TransactionPayload.kinds

    init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        self =
            SignedKind(claims.object) == .appTransaction
            ? .download(try AppTransactionPayload(&claims)) : .transaction(try TransactionPayload(&claims))
    }

    private var claims: any SignedClaims {
        switch self {
        case .transaction(let transaction): transaction
        case .download(let download): download
        }
    }

    var signingDate: Timestamp? { claims.signingDate }
    var claimedBundleId: String? { claims.claimedBundleId }
    var claimedAppAppleId: Int64? { claims.claimedAppAppleId }
    var claimedEnvironment: String? { claims.claimedEnvironment }
}
