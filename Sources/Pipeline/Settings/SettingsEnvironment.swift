package import Foundation

/// What the environment says: it goes before the file, and one app fits into it completely.
package enum SettingsEnvironment {
    /// Applies one of the command line's; its findings begin with its name.
    package typealias Flag = (inout Settings) throws(SettingsError) -> Void

    /// The configuration of a process: the file (if any), then the environment, then the command line's flags.
    ///
    /// - Throws: ``SettingsError`` with the findings of all three, and of the rules for what comes out.
    package static func settings(
        file: URL?, environment: [String: String], flags: [Flag] = []
    ) throws(SettingsError) -> Settings {
        let named = environment["RECEIPT_BRIDGE_CONFIG"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) }
        let reading: SettingsFile.Reading
        do throws(SettingsError) {
            if let file = file ?? named {
                reading = try SettingsFile.read(file, environment: environment)
            } else {
                reading = try SettingsFile.read(
                    nil, name: "environment", folder: URL(filePath: "."), environment: environment)
            }
        } catch {
            var settings = Settings()
            let findings = error.findings + mistakes(of: flags, in: &settings)
            throw SettingsError(findings, isUnreadable: error.isUnreadable)
        }
        let context = reading.context
        var settings = reading.settings
        let flagFindings = mistakes(of: flags, in: &settings)
        for (flag, key) in [("--listen: ", "listen"), ("--roots: ", "trust.roots")]
        where flagFindings.contains(where: { $0.hasPrefix(flag) }) {
            context.mistaken.insert(key)
        }
        if settings.listen != reading.settings.listen { context.places["listen"] = "--listen" }
        let findings = context.findings + flagFindings + SettingsRules.findings(in: settings, of: context)
        guard findings.isEmpty else { throw SettingsError(findings) }
        return settings
    }

    private static func mistakes(of flags: [Flag], in settings: inout Settings) -> [String] {
        var findings: [String] = []
        for flag in flags {
            do throws(SettingsError) { try flag(&settings) } catch { findings += error.findings }
        }
        return findings
    }
}
