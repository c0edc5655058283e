import ArgumentParser
import Foundation
import Pipeline

/// The options of every command that verifies.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Configuration file (YAML); or RECEIPT_BRIDGE_CONFIG.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Folder of test roots to trust besides Apple's.", valueName: "dir"))
    var roots: String?

    /// Flags before environment before file before defaults.
    ///
    /// - Throws: `SettingsError`.
    func settings(_ flags: (inout Settings) throws -> Void = { _ in }) throws -> Settings {
        var settings = try SettingsEnvironment.settings(
            file: config.map { URL(filePath: $0) }, environment: ProcessInfo.processInfo.environment)
        if let roots {
            do {
                settings.trustedRoots += try CertificateFile.read(URL(filePath: roots))
            } catch {
                throw SettingsError(["--roots: cannot read \(roots)"])
            }
        }
        try flags(&settings)
        return settings
    }

    /// Certificates of this folder's neighbours: a simulator writes `roots` and `intermediates` side by side.
    static func report(_ error: any Error) -> ExitCode {
        if let error = error as? SettingsError {
            for finding in error.findings { Terminal.say(finding) }
            return .usage
        }
        Terminal.say("\(error)")
        return .defect
    }
}
