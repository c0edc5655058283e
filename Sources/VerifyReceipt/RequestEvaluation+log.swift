import AppStoreClients
import ConcurrencySupport
import Logging
import ReceiptDecoding
import AppStoreTypes

/// The log lines of one request. Each topic is logged at most once a minute per configured app; all apps that are not
/// configured share one limit.
extension VerifyReceiptService.RequestEvaluation {
    /// Logs a line, or downgrades it to the debug level if the same topic was logged within the last minute.
    ///
    /// - Parameters:
    ///   - level: the level of a line that passes the rate limit. The number of lines that did not is in the next one,
    ///     as `suppressed`.
    ///   - topic: lines with the same topic, app and environment share one limit, for example `api`.
    func log(
        _ level: Logger.Level, _ message: Logger.Message, by topic: String, _ environment: AppStoreEnvironment?,
        _ details: Logger.Metadata = [:]
    ) {
        var metadata = details
        metadata["bundleId"] = "\(app.bundleId?.rawValue ?? "-")"
        if let environment { metadata["environment"] = "\(environment.rawValue)" }
        guard level > .debug else { return service.logger.debug(message, metadata: metadata) }
        let name = [service.apps.logName(of: app.bundleId), topic, environment?.rawValue ?? "-"]
        let suppressed = service.logThrottle.admission(of: name, at: now.sinceEpoch)
        if let suppressed, suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        service.logger.log(level: suppressed == nil ? .debug : level, message, metadata: metadata)
    }

    /// The client sent no password or an accepted one, so the secret that Apple rejected is the configured one.
    func logRejectedSecret(_ environment: AppStoreEnvironment) {
        log(
            .error, "Apple rejected the configured sharedSecret (21004); requests without a password will fail",
            by: "secret",
            environment)
    }

    /// The receipt may be genuine, but this configuration cannot tell. An operator can fix that, for example by adding
    /// the missing intermediate certificate to `trust.intermediates`.
    func logUndecodedReceipt() {
        guard case .rejected(let error, _) = verification, error.status == nil else { return }
        log(
            .warning, "receipt could not be verified locally", by: "undecided \(error.code.rawValue)", nil,
            ["reason": "\(error.code.rawValue)"])
    }

    /// Logs a response of Apple's that an operator should see: 21003 (not authentic) and 21010 (account not found).
    func logForwardedStatus(_ answer: UpstreamResponse, from environment: AppStoreEnvironment) {
        guard answer.status == .notAuthentic || answer.status == .accountNotFound else { return }
        let isAuthenticHere = authenticReceipt != nil
        log(
            .notice, "forwarding Apple's response", by: "verdict \(answer.status) \(isAuthenticHere)", environment,
            ["status": "\(answer.status)", "authenticHere": "\(isAuthenticHere)"])
    }
}
