package import Foundation
import StoreTypes

/// What the environment says: it goes before the file, and one app fits into it completely.
package enum SettingsEnvironment {
    /// The configuration of a process: the file (if any), then the environment, then the command line's flags.
    ///
    /// - Throws: ``SettingsError`` with the findings of all three, and of the rules for what comes out.
    package static func settings(
        file: URL?, environment: [String: String], flags: (inout Settings) throws(SettingsError) -> Void = { _ in }
    ) throws(SettingsError) -> Settings {
        var settings = Settings()
        var findings: [String] = []
        if let file = file ?? environment["RECEIPT_BRIDGE_CONFIG"].flatMap({ $0.isEmpty ? nil : URL(filePath: $0) }) {
            do throws(SettingsError) {
                settings = try SettingsFile.read(file, environment: environment)
            } catch {
                findings += error.findings
            }
        }
        var reader = Reader(environment: environment)
        reader.read(into: &settings)
        findings += reader.findings
        do throws(SettingsError) {
            try flags(&settings)
        } catch {
            findings += error.findings
        }
        if findings.isEmpty { findings = SettingsRules.findings(in: settings) }
        guard findings.isEmpty else { throw SettingsError(findings) }
        return settings
    }

    private struct Reader {
        let environment: [String: String]
        var findings: [String] = []

        init(environment: [String: String]) {
            self.environment = environment
        }

        mutating func read(into settings: inout Settings) {
            if let address = address("LISTEN") { settings.listen = address }
            if let address = address("OPERATIONS_LISTEN") {
                settings.operationsListen = address
                settings.operationsListenIsExplicit = true
            }
            if let choice = choice("UNKNOWNAPPS", of: Settings.UnknownApps.self) { settings.unknownApps = choice }
            if let secret = secret("SHAREDSECRET") { settings.sharedSecret = secret }
            if let url = text("UPSTREAM_VERIFYRECEIPT_PRODUCTION") { settings.verifyReceipt.production = url }
            if let url = text("UPSTREAM_VERIFYRECEIPT_SANDBOX") { settings.verifyReceipt.sandbox = url }
            if let proxy = text("UPSTREAM_PROXY") { settings.upstreamProxy = proxy }
            readApp(into: &settings)
        }

        private mutating func readApp(into settings: inout Settings) {
            guard let text = text("APP_BUNDLEID") else {
                let names = environment.filter { $0.key.hasPrefix("RECEIPT_BRIDGE_APP_") && !$0.value.isEmpty }.keys
                findings += names.sorted().map { "\($0): RECEIPT_BRIDGE_APP_BUNDLEID must say which app is meant" }
                return
            }
            guard let bundleId = BundleIdentifier(rawValue: text) else {
                findings.append("RECEIPT_BRIDGE_APP_BUNDLEID: not a bundle id")
                return
            }
            let index = settings.apps.firstIndex { $0.bundleId == bundleId } ?? settings.apps.count
            if index == settings.apps.count { settings.apps.append(AppSettings(bundleId: bundleId)) }
            if let number = self.text("APP_APPAPPLEID") {
                settings.apps[index].appAppleId = Int64(number)
                if Int64(number) == nil { findings.append("RECEIPT_BRIDGE_APP_APPAPPLEID: not a whole number") }
            }
            if let secret = secret("APP_SHAREDSECRET") { settings.apps[index].sharedSecret = secret }
            if let choice = choice("APP_CLIENTPASSWORD", of: AppSettings.ClientPassword.self) {
                settings.apps[index].clientPassword = choice
            }
            if let choice = choice("APP_SANDBOX", of: AppSettings.SandboxPolicy.self) {
                settings.apps[index].sandbox = choice
            }
            if let names = self.text("APP_ANSWER") {
                let sources = names.split(separator: ",").map {
                    AnswerSource(rawValue: $0.trimmingCharacters(in: .whitespaces))
                }
                settings.apps[index].answer = sources.compactMap { $0 }
                if sources.contains(nil) || sources.isEmpty {
                    findings.append("RECEIPT_BRIDGE_APP_ANSWER: expected apple, api, receipt, stored")
                }
            }
        }

        private func text(_ name: String) -> String? {
            environment["RECEIPT_BRIDGE_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
        }

        private mutating func address(_ name: String) -> Settings.Address? {
            guard let text = text(name) else { return nil }
            let address = Settings.Address(text)
            if address == nil { findings.append("RECEIPT_BRIDGE_\(name): \(text) is not HOST:PORT") }
            return address
        }

        private mutating func choice<Choice: RawRepresentable & CaseIterable>(
            _ name: String, of: Choice.Type
        ) -> Choice? where Choice.RawValue == String {
            guard let text = text(name) else { return nil }
            let choice = Choice(rawValue: text)
            if choice == nil {
                let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                findings.append("RECEIPT_BRIDGE_\(name): \(text) is none of \(names)")
            }
            return choice
        }

        private mutating func secret(_ name: String) -> SharedSecret? {
            if let path = text("\(name)_FILE") {
                let context = SettingsFileContext(
                    displayName: "RECEIPT_BRIDGE_\(name)_FILE",
                    folder: URL(filePath: FileManager.default.currentDirectoryPath), environment: environment)
                let secret = context.secret(at: path, for: "path")
                findings += context.findings
                return secret
            }
            return text(name).map { SharedSecret($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        }
    }
}
