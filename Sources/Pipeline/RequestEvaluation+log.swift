import AppStore
import Logging
import ReceiptDecoding
import StoreTypes

/// What one request writes into the log: each line at most once a minute for each configured app, and for all other apps
/// together.
extension VerifyReceiptService.RequestEvaluation {
    /// - Parameters:
    ///   - level: of a line that gets through; the others are debug lines, and counted in the next one as `suppressed`.
    ///   - topic: what is counted together, with the app and the environment.
    func log(
        _ level: Logger.Level, _ message: Logger.Message, by topic: String, _ environment: AppStoreEnvironment?,
        _ details: Logger.Metadata = [:]
    ) {
        var metadata = details
        metadata["bundleId"] = "\(app.bundleId?.rawValue ?? "-")"
        if let environment { metadata["environment"] = "\(environment.rawValue)" }
        guard level > .debug else { return pipeline.logger.debug(message, metadata: metadata) }
        let name = [pipeline.apps.logName(of: app.bundleId), topic, environment?.rawValue ?? "-"]
        let suppressed = pipeline.failureLog.admission(of: name, at: now)
        if let suppressed, suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        pipeline.logger.log(level: suppressed == nil ? .debug : level, message, metadata: metadata)
    }

    /// The client sent no password, or one that was good before: what Apple does not take is ours.
    func logRejectedSecret(_ environment: AppStoreEnvironment) {
        log(
            .error, "Apple does not take the app's sharedSecret: clients that send none get 21004", by: "secret",
            environment)
    }

    /// It may be genuine, and this configuration cannot tell: an operator can add what is missing.
    func logUndecodedReceipt() {
        guard case .rejected(let error, _) = verification, error.status == nil else { return }
        log(
            .warning, "a receipt cannot be judged here", by: "unjudged \(error.code.rawValue)", nil,
            ["reason": "\(error.code.rawValue)"])
    }

    /// Verdicts of Apple's that an operator wants to know of.
    func note(_ answer: UpstreamResponse, from environment: AppStoreEnvironment) {
        guard answer.status == .notAuthentic || answer.status == .accountNotFound else { return }
        let isAuthenticHere = authenticReceipt != nil
        log(
            .notice, "Apple's verdict passed on", by: "verdict \(answer.status) \(isAuthenticHere)", environment,
            ["status": "\(answer.status)", "authenticHere": "\(isAuthenticHere)"])
    }
}
