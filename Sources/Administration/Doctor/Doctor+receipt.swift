import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeTransport

/// Checks the configuration with a real receipt: which app it is of, and whether Apple accepts the shared secret of
/// that app. Only Apple knows the secret, and tells only for a receipt.
extension Doctor {
    /// The shared secret is not checked if no host is to be contacted.
    func checks(of file: (name: String, bytes: [UInt8])) async -> [CheckResult] {
        guard let trust = try? TrustStore(settings: settings) else { return [] }
        let receipt = ReceiptReader(trust: trust, now: now).read(file.bytes)
        if let failure = receipt.failure {
            return [
                CheckResult(
                    "receipt", .fail, "\(file.name): \(failure)",
                    advice: "receipt-bridge decode \(file.name) shows what it contains")
            ]
        }
        guard let bundleId = receipt.bundleId.flatMap(BundleIdentifier.init(rawValue:)) else {
            return [CheckResult("receipt", .fail, "\(file.name): authentic, but it names no app")]
        }
        let apps = AppRegistry(settings: settings)
        let words = "\(file.name): authentic, of \(bundleId), \(receipt.environment?.rawValue ?? "no environment")"
        guard let app = apps.configured(bundleId) else {
            return [
                apps.isEmpty
                    ? CheckResult(
                        "receipt", .warn, words + "; no app is configured", advice: "apps: [{bundleId: \(bundleId)}]")
                    : CheckResult(
                        "receipt", .fail, "\(words). \(apps.notice(of: bundleId))", advice: "correct bundleId")
            ]
        }
        let result = CheckResult("receipt", .pass, words)
        guard let transport, receipt.kind != .jws else { return [result] }
        return [result] + (await answer(to: receipt, of: app, bundleId, transport))
    }

    /// Asks Apple about the receipt with the configured secret: is it right, and does the response have the order of
    /// ours?
    private func answer(
        to receipt: DecodedReceipt, of app: AppConfiguration, _ bundleId: BundleIdentifier,
        _ transport: any HTTPTransport
    ) async -> [CheckResult] {
        let (name, hasSecret) = ("sharedSecret \(bundleId)", app.sharedSecret != nil)
        do {
            let apple = try BatchVerifyReceipt(
                settings: settings, trust: TrustStore(settings: settings), transport: transport)
            let answer = try await apple.answer(to: receipt)
            let response = try? ResponseDocument(answer.body)
            let secret = Self.result(
                name, answer.status, hasSecret: hasSecret,
                showsLatest: response.map { $0.hasLatest || $0.root["latest_receipt"] != nil } ?? false)
            let order = response?.hasNewestFirst.map { isFirst in
                Self.order(
                    bundleId, isNewestFirst: isFirst, app.latestReceiptInfoOrder, receipt.environment ?? .production)
            }
            return [secret] + [order].compactMap(\.self)
        } catch let error as BatchVerifyReceipt.Unavailable {
            return [CheckResult(name, .warn, "not checked: \(error.reason)", advice: "try again later")]
        } catch {
            return [CheckResult(name, .fail, "\(error)")]
        }
    }

    /// Compares the order of `latest_receipt_info` in a response of Apple's with the one that ours have.
    private static func order(
        _ bundleId: BundleIdentifier, isNewestFirst: Bool, _ order: AnswerOptions.Order,
        _ environment: AppStoreEnvironment
    ) -> CheckResult {
        let name = "latestReceiptInfoOrder \(bundleId)"
        let words = "Apple's latest_receipt_info has the newest row \(isNewestFirst ? "first" : "last")"
        guard order.isNewestFirst(in: environment) != isNewestFirst else {
            return CheckResult(name, .pass, "\(words), as ours in \(environment.rawValue)")
        }
        let right: AnswerOptions.Order = isNewestFirst ? .descending : .ascending
        return CheckResult(
            name, .warn, "\(words), ours in \(environment.rawValue) \(isNewestFirst ? "last" : "first")",
            advice: "latestReceiptInfoOrder: \(right.rawValue)")
    }

    /// Interprets a response of Apple's. Only the response to a correct password shows the latest purchases.
    ///
    /// - Parameter hasSecret: Whether a secret was sent.
    private static func result(
        _ name: String, _ status: VerifyReceiptStatus, hasSecret: Bool, showsLatest: Bool
    ) -> CheckResult {
        switch status {
        case .wrongSharedSecret:
            CheckResult(
                name, .fail,
                hasSecret
                    ? "Apple rejects the configured sharedSecret (21004)"
                    : "none is configured, and Apple requires it for this receipt (21004)",
                advice: "App Store Connect shows it under the app's information, or for all apps under Users and Access"
            )
        case .valid where showsLatest && hasSecret, .subscriptionExpired where showsLatest && hasSecret:
            CheckResult(name, .pass, "Apple accepts it (\(status))")
        case .valid, .subscriptionExpired:
            CheckResult(
                name, .warn, "the response (\(status)) does not show whether the secret is correct",
                advice: "use a receipt with a subscription")
        default:
            CheckResult(name, .warn, "not checked: Apple's response to the receipt is \(status)")
        }
    }
}
