import AppStoreClients
import Base
import BridgeConfiguration
import Foundation
import Storage
import VerifyReceipt

/// Checks which apps and keys the configuration has, and whether other users can read its secret files.
extension Doctor {
    var configurationChecks: [CheckResult] {
        [configuration] + settings.unknownVariables.map(unused) + settings.secretFiles.compactMap(secret)
            + settings.apps.flatMap(unusualForms) + mixUps
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

    /// Warnings about values that do not look like Apple's, which are often another value by mistake. Apple documents
    /// none of these forms, so such a value may still be right.
    private func unusualForms(of app: AppConfiguration) -> [CheckResult] {
        let name = app.bundleId?.rawValue ?? "app"
        var forms: [(key: String, isUsual: Bool, form: String)] = []
        if let bundleId = app.bundleId {
            forms.append(("bundleId", MixUp.isBundleId(bundleId.rawValue), MixUp.bundleIdForm))
        }
        if let secret = app.sharedSecret {
            let text = secret.reveal()
            let isUsual = text.utf8.count == 32 && text.allSatisfy(\.isHexDigit)
            forms.append(("sharedSecret", isUsual, "Apple's have 32 hexadecimal digits"))
        }
        if let account = app.serverAPI {
            forms.append(("issuerId", UUID(uuidString: account.issuerId) != nil, "Apple's are UUIDs"))
            let isKey = account.keyId.utf8.count == 10 && account.keyId.allSatisfy { $0.isLetter || $0.isNumber }
            forms.append(("keyId", isKey, "Apple's have ten letters and digits"))
        }
        return forms.filter { !$0.isUsual }.map {
            CheckResult(
                "configuration", .warn, "\(name): \($0.key) has an unusual form: \($0.form)",
                advice: "compare it with App Store Connect")
        }
    }

    /// Returns a warning if other users can read or change the secret file; otherwise `nil`.
    private func secret(_ file: ProxyConfiguration.SecretFile) -> CheckResult? {
        guard let exposure = FileExposure(path: file.path) else { return nil }
        return CheckResult(
            "secret \(file.key)", .warn, "\(file.path) can be read or changed by \(exposure.description)",
            advice: "chmod 600, owned by the user that receipt-bridge runs as")
    }
}
