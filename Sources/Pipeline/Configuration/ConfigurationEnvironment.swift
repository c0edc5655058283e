package import Foundation

/// What the environment says: it goes before the file, and one app fits into it completely.
package enum ConfigurationEnvironment {
    /// Applies one of the command line's; its findings begin with its name.
    package typealias Flag = (inout ProxyConfiguration) throws(ConfigurationError) -> Void

    /// The configuration of a process: the file (if any), then the environment, then the command line's flags.
    ///
    /// - Throws: ``ConfigurationError`` with the findings of all three, and of the rules for what comes out.
    package static func settings(
        file: URL?, environment: [String: String], flags: [Flag] = []
    ) throws(ConfigurationError) -> ProxyConfiguration {
        let named = environment["RECEIPT_BRIDGE_CONFIG"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) }
        let reading: ConfigurationFile.Reading
        do throws(ConfigurationError) {
            if let file = file ?? named {
                reading = try ConfigurationFile.read(file, environment: environment)
            } else {
                reading = try ConfigurationFile.read(
                    nil, name: "environment", folder: URL(filePath: "."), environment: environment)
            }
        } catch {
            var settings = ProxyConfiguration()
            let findings = error.findings + mistakes(of: flags, in: &settings)
            throw ConfigurationError(findings, isUnreadable: error.isUnreadable)
        }
        let context = reading.context
        var settings = reading.settings
        let flagFindings = mistakes(of: flags, in: &settings)
        for (flag, key) in [("--listen: ", "listen"), ("--roots: ", "trust.roots")]
        where flagFindings.contains(where: { $0.hasPrefix(flag) }) {
            context.mistaken.insert(key)
        }
        if settings.listen != reading.settings.listen { context.places["listen"] = "--listen" }
        let findings = context.findings + flagFindings + ConfigurationValidation.findings(in: settings, of: context)
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        return settings
    }

    private static func mistakes(of flags: [Flag], in settings: inout ProxyConfiguration) -> [String] {
        var findings: [String] = []
        for flag in flags {
            do throws(ConfigurationError) { try flag(&settings) } catch { findings += error.findings }
        }
        return findings
    }
}
