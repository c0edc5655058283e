import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Logging
import ReceiptBridgeReceipts
import ReceiptBridgeStorage

/// An effect of a response that a source gave and the client gets, for example storing it in an archive. It does not
/// change the response, and does not wait: slow work is queued.
package protocol ResponseObserver: Sendable {
    /// Called once for each response of a source, before it is returned.
    func observe(_ response: SourcedAnswer, to request: ResolvedRequest)
}

/// Logs the responses of Apple's that an operator should see: 21003 (not authentic) and 21010 (account not found).
struct UpstreamResponseLog: ResponseObserver {
    let logger: RequestLogger

    func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
        guard case .apple(let answer, let environment) = response.origin else { return }
        switch answer.status {
        case .notAuthentic, .accountNotFound:
            let isAuthenticHere = request.authenticReceipt != nil
            logger.log(
                .notice, "forwarding Apple's response", by: "verdict \(answer.status) \(isAuthenticHere)", environment,
                of: request,
                [
                    "status": .stringConvertible(answer.status.rawValue),
                    "authenticHere": .stringConvertible(isAuthenticHere),
                ])
        default: break
        }
    }
}

/// Records whether an authentic receipt of production contradicts the configured `appAppleId`, by which production
/// notifications are recognized.
struct AppIdentityRecorder: ResponseObserver {
    let credentials: RejectedCredentials

    func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
        guard let receipt = request.authenticReceipt, receipt.environment == .production,
            case .app(let contents) = receipt.contents, let signed = contents.appAppleId, signed != 0,
            let configured = request.app.appAppleId
        else { return }
        credentials.record(.appAppleId, of: receipt.bundleId, isAccepted: signed == configured)
    }
}

struct UpstreamResponseRecorder: ResponseObserver {
    let observations: UpstreamObservations

    func observe(_ response: SourcedAnswer, to request: ResolvedRequest) {
        guard case .apple(let answer, _) = response.origin, let receipt = request.authenticReceipt else { return }
        observations.record(answer, for: receipt, askedAt: request.now)
    }
}
