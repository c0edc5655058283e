import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeStorage

/// Checks which apps and keys the configuration has, and whether other users can read its secret files.
extension Doctor {
    var configurationChecks: [CheckResult] {
        [configuration] + settings.unknownVariables.map(unused) + settings.secretFiles.compactMap(secret)
            + settings.apps.flatMap(\.unusualForms).map {
                CheckResult("configuration", .warn, $0, advice: "compare it with App Store Connect")
            }
            + mixUps
    }

    private var configuration: CheckResult {
        let apps = settings.apps.compactMap { $0.bundleId?.rawValue }
        guard !apps.isEmpty else {
            return CheckResult(
                "configuration", settings.unknownApps == .pass ? .pass : .fail,
                settings.unknownApps == .pass
                    ? "no app is configured: receipts of all apps are forwarded to Apple unchanged"
                    : "no app is configured and unknownApps is refuse: every receipt gets 21003",
                advice: settings.unknownApps == .pass ? nil : "configure the apps under apps, or set unknownApps: pass")
        }
        return CheckResult(
            "configuration", .pass,
            "\(apps.count == 1 ? "1 app" : "\(apps.count) apps"): \(apps.joined(separator: ", "))")
    }

    /// A key that this version does not know is a warning: it may be misspelled.
    private func unused(_ variable: ProxyConfiguration.UnknownVariable) -> CheckResult {
        CheckResult(
            "configuration", .warn, "\(variable.name) is not used\(variable.question)",
            advice: "remove it, or check its spelling")
    }

    /// Returns a warning if other users can read or change the secret file; otherwise `nil`.
    private func secret(_ file: ProxyConfiguration.SecretFile) -> CheckResult? {
        guard let exposure = FileExposure(path: file.path) else { return nil }
        return CheckResult(
            "secret \(file.key)", .warn, "\(file.path) can be read or changed by \(exposure.description)",
            advice: "chmod 600, owned by the user that receipt-bridge runs as")
    }
}
