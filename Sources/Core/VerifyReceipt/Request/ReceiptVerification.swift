import ReceiptBridgeBase
package import ReceiptBridgeReceipts
import ReceiptBridgeStorage

/// The outcome of decoding and verifying the text of a request.
package enum ReceiptVerification: Sendable {
    case authentic(AuthenticItem)
    /// Not authentic. The fields are what the text claims to be; they decide which app's configuration applies and
    /// which rules are checked, and nothing else.
    case rejected(ReceiptDecodingError, UnverifiedReceiptFields)

    package init(of text: [UInt8], by decoder: ReceiptDecoder) {
        do throws(ReceiptDecodingError) {
            self = .authentic(AuthenticItem(try decoder.decode(text.span)))
        } catch {
            self = .rejected(error, decoder.claims(of: text.span))
        }
    }

    package var authenticItem: AuthenticItem? {
        if case .authentic(let item) = self { item } else { nil }
    }

    /// The environment to report: the item's if it is authentic, otherwise the endpoint's.
    func environment(on route: UpstreamRouter.Route) -> AppStoreEnvironment {
        switch self {
        case .authentic(let item): item.environment
        case .rejected: route.environment
        }
    }
}

extension ReceiptDecodingError {
    /// The status for a decoding failure; `nil` if another source must decide. No other place maps these failures.
    var status: VerifyReceiptStatus? {
        switch verdict {
        case .notAReceipt: .malformedReceipt
        case .forged: .notAuthentic
        case .notJudged: nil
        }
    }
}

extension AppScope {
    /// The app and the environment of a receipt.
    init(of receipt: Receipt) { self.init(bundleId: receipt.bundleId, environment: receipt.environment) }
}

extension AppRegistry {
    /// The app whose configuration applies, or the status of the refusal.
    enum AppDecision {
        case app(AppConfiguration)
        case refused(VerifyReceiptStatus)
    }

    /// Chooses the app whose configuration applies to a receipt. The bundle id of a receipt that is not authentic is
    /// used for this and for nothing else. A text that names no app is treated as a receipt of an unknown app.
    func resolution(of verification: ReceiptVerification) -> AppDecision {
        let bundleId: BundleIdentifier?
        let status: VerifyReceiptStatus?
        switch verification {
        case .authentic(let item): (bundleId, status) = (item.bundleId, nil)
        case .rejected(let error, let claims): (bundleId, status) = (claims.bundleId, error.status)
        }
        if let app = resolution(of: bundleId) { return .app(app) }
        // A receipt that is not judged and whose bundle id cannot be read may belong to a configured app.
        if case .rejected(let error, _) = verification, error.verdict == .notJudged, bundleId == nil {
            return .refused(.temporarilyUnavailable)
        }
        return .refused(status ?? .notAuthentic)
    }
}
