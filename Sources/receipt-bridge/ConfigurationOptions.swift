import ArgumentParser
import Foundation
import Pipeline

/// The options of every command that verifies.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Configuration file (YAML); or RECEIPT_BRIDGE_CONFIG.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @Option(
        help: ArgumentHelp("Folder of test roots and their authorities, besides Apple's.", valueName: "dir"),
        completion: .directory)
    var roots: String?

    /// Flags before environment before file before defaults.
    func settings(_ flags: [ConfigurationEnvironment.Flag] = []) throws(ConfigurationError) -> ProxyConfiguration {
        try ConfigurationEnvironment.settings(
            file: config.map { URL(filePath: $0) }, environment: ProcessInfo.processInfo.environment, flags: flags)
    }

    /// The same with the test roots of `--roots`, for commands that serve nobody: Apple may be asked beside them.
    func settingsWithRoots() throws(ConfigurationError) -> ProxyConfiguration {
        var settings: ProxyConfiguration
        do throws(ConfigurationError) {
            settings = try self.settings()
        } catch {
            var unused = ProxyConfiguration()
            do throws(ConfigurationError) {
                try addRoots(to: &unused)
            } catch let roots {
                throw ConfigurationError(error.findings + roots.findings, isUnreadable: error.isUnreadable)
            }
            throw error
        }
        try addRoots(to: &settings)
        return settings
    }

    /// A simulator writes `roots` and `intermediates` side by side; the latter are no trust, only links to the former.
    func addRoots(to settings: inout ProxyConfiguration) throws(ConfigurationError) {
        guard let roots else { return }
        let folder = URL(filePath: roots).standardizedFileURL
        let neighbours = folder.deletingLastPathComponent().appending(path: "intermediates")
        do throws(ConfigurationError) {
            try settings.trust(certificatesIn: folder, named: roots)
            // Nobody named that one: it may be missing, or hold none.
            if CertificateLoader.files(at: neighbours)?.isEmpty == false {
                settings.intermediates += try CertificateLoader.read(neighbours)
            }
        } catch {
            throw ConfigurationError(error.findings.map { "--roots: \($0)" })
        }
    }

    /// Says what went wrong, and gives the exit code for it.
    static func report(_ error: any Error) -> ExitCode {
        if let error = error as? ConfigurationError {
            for finding in error.findings { Terminal.say(finding) }
            return .usage
        }
        Terminal.say("\(error)")
        return .defect
    }
}

/// The option of commands that write answers.
struct MappingsOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Folder of field tables, in place of those in the program.", valueName: "dir"),
        completion: .directory)
    var mappings: String?

    func apply(to settings: inout ProxyConfiguration) throws(ConfigurationError) {
        guard let mappings else { return }
        do throws(ConfigurationError) {
            try settings.use(mappings: URL(filePath: mappings))
        } catch {
            throw ConfigurationError(error.findings.map { "--mappings: \($0)" })
        }
    }
}
