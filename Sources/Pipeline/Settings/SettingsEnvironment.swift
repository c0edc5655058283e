package import Foundation

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
        var isUnreadable = false
        do throws(SettingsError) {
            if let file = file ?? environment["RECEIPT_BRIDGE_CONFIG"].flatMap({ $0.isEmpty ? nil : URL(filePath: $0) })
            {
                settings = try SettingsFile.read(file, environment: environment)
            } else {
                settings = try SettingsFile.parse(
                    nil, name: "environment", folder: URL(filePath: "."), environment: environment)
            }
        } catch {
            findings += error.findings
            isUnreadable = error.isUnreadable
        }
        do throws(SettingsError) {
            try flags(&settings)
        } catch {
            findings += error.findings
        }
        if findings.isEmpty { findings = SettingsRules.findings(in: settings) }
        guard findings.isEmpty else { throw SettingsError(findings, isUnreadable: isUnreadable) }
        return settings
    }
}
