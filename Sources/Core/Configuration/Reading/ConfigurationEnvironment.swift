package import Foundation

/// Loads the configuration of a process from all of its sources. Command line flags override the environment, and the
/// environment overrides the file. A single app can be configured by the environment alone.
package enum ConfigurationEnvironment {
    /// Applies one command line flag. Its findings begin with the flag's name, for example `--listen: `.
    package typealias Flag = (inout ProxyConfiguration) throws(ConfigurationError) -> Void

    /// The variable that names a file with the password of the second store of a command, for example of `store copy`.
    package static let secondPasswordFile = "RECEIPT_BRIDGE_DATABASE_PASSWORD_FILE_2"

    /// Loads the configuration: the file (if any), then the environment, then the command line flags.
    ///
    /// - Throws: ``ConfigurationError`` with the findings of all three, and of ``ConfigurationValidation`` for the
    ///     result.
    package static func settings(
        file: URL?, environment: [String: String], flags: [Flag] = [], checks: ExternalChecks
    ) throws(ConfigurationError) -> ProxyConfiguration {
        let configPath = environment["RECEIPT_BRIDGE_CONFIG"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) }
        let reading: ConfigurationFile.Reading
        do throws(ConfigurationError) {
            if let file = file ?? configPath {
                reading = try ConfigurationFile.read(file, environment: environment, checks: checks)
            } else {
                reading = try ConfigurationFile.read(
                    nil, name: "environment", folder: URL(filePath: "."), environment: environment, checks: checks)
            }
        } catch {
            var settings = ProxyConfiguration()
            let findings = error.findings + applyFlags(flags, to: &settings)
            throw ConfigurationError(findings, isUnreadable: error.isUnreadable)
        }
        let context = reading.context
        var settings = reading.settings
        let flagFindings = applyFlags(flags, to: &settings)
        for (flag, key) in [("--listen: ", "listen"), ("--roots: ", "trust.roots")]
        where flagFindings.contains(where: { $0.hasPrefix(flag) }) {
            context.keysWithFindings.insert(key)
        }
        if settings.listen != reading.settings.listen { context.sources["listen"] = "--listen" }
        let findings = context.findings + flagFindings + ConfigurationValidation.findings(in: settings, of: context)
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        return settings
    }

    private static func applyFlags(_ flags: [Flag], to settings: inout ProxyConfiguration) -> [String] {
        var findings: [String] = []
        for flag in flags {
            do throws(ConfigurationError) { try flag(&settings) } catch { findings += error.findings }
        }
        return findings
    }
}
