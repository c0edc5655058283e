import ReceiptBridgeReceipts
import ReceiptBridgeBase
package import Logging
import ReceiptBridgeResponses

/// The log lines about requests. Each topic is logged at most once a minute per configured app; all apps that are not
/// configured share one limit.
package struct RequestLogger: Sendable {
    let logger: Logger
    let apps: AppRegistry
    /// Limits log lines about conditions that recur with every request, because the log is no faster than the disk that
    /// stores it.
    private let throttle = LogThrottle<[String]>()

    package init(_ logger: Logger, apps: AppRegistry) {
        self.logger = logger
        self.apps = apps
    }

    /// Logs a line, or downgrades it to the debug level if the same topic was logged within the last minute.
    ///
    /// - Parameters:
    ///   - level: the level of a line that passes the rate limit. The number of lines that did not is in the next one,
    ///     as `suppressed`.
    ///   - topic: lines with the same topic, app and environment share one limit, for example `api`.
    func log(
        _ level: Logger.Level, _ message: Logger.Message, by topic: String, _ environment: AppStoreEnvironment?,
        of request: ResolvedRequest, _ details: Logger.Metadata = [:]
    ) {
        let bundleId = request.app.bundleId
        var metadata = details
        metadata["bundleId"] = "\(bundleId?.rawValue ?? "-")"
        if let environment { metadata["environment"] = "\(environment.rawValue)" }
        guard level > .debug else { return logger.debug(message, metadata: metadata) }
        let name = [apps.logName(of: bundleId), topic, environment?.rawValue ?? "-"]
        let suppressed = throttle.admission(of: name, at: request.now.sinceEpoch)
        if let suppressed, suppressed > 0 { metadata["suppressed"] = .stringConvertible(suppressed) }
        logger.log(level: suppressed == nil ? .debug : level, message, metadata: metadata)
    }

    /// The receipt may be genuine, but this configuration cannot tell. An operator can fix that, for example by adding
    /// the missing intermediate certificate to `trust.intermediates`.
    func logUndecodedReceipt(of request: ResolvedRequest) {
        guard case .rejected(let error, _) = request.verification, error.status == nil else { return }
        log(
            .warning, "receipt could not be verified locally", by: "undecided \(error.code.rawValue)", nil, of: request,
            ["reason": "\(error.code.rawValue)"])
    }

    /// A text that is not base64, or a handle of version 0.1.0. Who presents handles has to replace them.
    func logMalformedReceipt(_ error: ReceiptDecodingError, at now: Timestamp) {
        guard error.code == .bridgeHandle, let suppressed = throttle.admission(of: ["handle"], at: now.sinceEpoch)
        else {
            let reason = error.code == .bridgeHandle ? error.description : "receiptNotBase64"
            return logger.debug("verifyReceipt request rejected with 21002", metadata: ["reason": "\(reason)"])
        }
        logger.warning(
            "verifyReceipt request rejected with 21002",
            metadata: ["reason": "\(error)", "suppressed": .stringConvertible(suppressed)])
    }

    /// The same for a JWS. Which app it is of is not known, because its claims are not verified.
    func logUnjudged(_ error: SignedPayloadError, at now: Timestamp) {
        guard let suppressed = throttle.admission(of: ["undecided \(error.code.rawValue)"], at: now.sinceEpoch) else {
            return
        }
        logger.warning(
            "signed transaction could not be verified locally",
            metadata: ["reason": "\(error)", "suppressed": .stringConvertible(suppressed)])
    }

    /// Receipts arrive of an app that is not configured. All such apps share one limit.
    func logUnconfiguredApp(_ bundleId: BundleIdentifier, in reply: SourcedAnswer, at now: Timestamp) {
        guard let suppressed = throttle.admission(of: ["unconfigured"], at: now.sinceEpoch) else { return }
        logger.warning(
            "authentic receipts of an app that is not configured",
            metadata: [
                "bundleId": "\(bundleId)", "status": .stringConvertible(reply.answer.status.rawValue),
                "suppressed": .stringConvertible(suppressed),
                "reason": "\(apps.explanations(of: reply).joined(separator: " "))",
            ])
    }
}
