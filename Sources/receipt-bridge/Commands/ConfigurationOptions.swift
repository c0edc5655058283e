import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeServer
import Synchronization

/// Options of every command that verifies receipts.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Configuration file (YAML), or - for standard input (default: RECEIPT_BRIDGE_CONFIG, then ./receipt-bridge.yaml).",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @Option(
        help: ArgumentHelp("Directory of test root certificates to trust in addition to Apple's.", valueName: "dir"),
        completion: .directory)
    var roots: String?

    /// Flags take precedence over environment variables, these over the file, and the file over the defaults. If no
    /// file is named, the one in the working folder is read, unless it has test roots: these are trusted only on
    /// request.
    ///
    /// - Parameters:
    ///   - searches: Whether the file in the working folder is read if no file is named.
    ///   - log: Writes which file in the working folder is read; `nil` for standard error.
    func settings(
        _ flags: [ConfigurationEnvironment.Flag] = [], searches: Bool = true, log: ((String) -> Void)? = nil
    ) throws(ConfigurationError) -> ProxyConfiguration {
        guard searches, isFound else {
            if searches, !isNamed { announce(Self.similarFile, log) }
            return try read(named, flags)
        }
        let hasTestRoots = (try? read(Self.standardFile, []))?.trustedRoots.isEmpty == false
        let name = Self.standardFile
        if !hasTestRoots {
            announce("using \(name) in this folder", log)
        } else if log != nil || Terminal.messagesGoToTerminal {
            announce("\(name) in this folder is not used, because it has test roots; --config \(name) uses it", log)
        }
        return try read(hasTestRoots ? nil : name, flags)
    }

    private func announce(_ sentence: String?, _ log: ((String) -> Void)?) {
        guard let sentence, !Self.isAnnounced.exchange(true, ordering: .relaxed) else { return }
        log?(sentence) ?? Terminal.inform(sentence)
    }

    private func read(
        _ file: String?, _ flags: [ConfigurationEnvironment.Flag]
    ) throws(ConfigurationError) -> ProxyConfiguration {
        try ConfigurationEnvironment.settings(
            file: file.map { URL(filePath: $0) }, environment: ProcessInfo.processInfo.environment, flags: flags,
            checks: .server)
    }

    private static let isAnnounced = Atomic(false)

    static let standardFile = "receipt-bridge.yaml"

    /// A sentence about a file in the working folder whose name resembles ``standardFile``; `nil` if there is none.
    private static var similarFile: String? {
        let question = Files.didYouMean(standardFile)
        return question.isEmpty ? nil : "there is no \(standardFile) in this folder\(question)"
    }

    private var named: String? {
        config ?? ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
    }

    var isNamed: Bool { named != nil }

    private var isFound: Bool { !isNamed && FileManager.default.fileExists(atPath: Self.standardFile) }

    /// The name of the configuration's file as the user wrote it; `nil` without a file.
    var name: String? { named ?? (isFound ? Self.standardFile : nil) }

    private var file: URL? { name.map { URL(filePath: $0) } }

    /// Whether the configuration is from a pipe or standard input, which is read once.
    var isStream: Bool { file.map(ConfigurationFile.isStream) ?? false }

    /// When the configuration's file was last changed; `nil` if there is none.
    var changedAt: Date? {
        guard let file, !isStream else { return nil }
        let path = file.resolvingSymlinksInPath().path
        return try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }

    /// Reads the configuration and adds the test roots of `--roots`. For commands that are not servers: they may
    /// contact Apple even with test roots.
    ///
    /// - Parameter searches: As for ``settings(_:searches:log:)``.
    func settingsWithRoots(searches: Bool = true) throws(ConfigurationError) -> ProxyConfiguration {
        var settings: ProxyConfiguration
        do throws(ConfigurationError) {
            settings = try self.settings(searches: searches)
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

    /// Adds the certificates in `--roots`. A simulator writes `roots` and `intermediates` next to each other.
    /// Intermediates are not trusted; they only link a certificate to a root.
    func addRoots(to settings: inout ProxyConfiguration) throws(ConfigurationError) {
        guard let roots else { return }
        let folder = URL(filePath: roots).standardizedFileURL
        let intermediatesFolder = folder.deletingLastPathComponent().appending(path: "intermediates")
        do throws(ConfigurationError) {
            try settings.trust(certificatesIn: folder, named: roots)
            // The user did not name this directory, so it may be missing or empty.
            if CertificateLoader.files(at: intermediatesFolder)?.isEmpty == false {
                settings.intermediates += try CertificateLoader.read(intermediatesFolder)
            }
        } catch {
            throw ConfigurationError(error.findings.map { "--roots: \($0)" })
        }
    }

    /// Returns the result of `body`. An error is printed and turned into an exit code.
    static func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw report(error) }
    }

    static func report(_ error: any Error) -> ExitCode {
        if let error = error as? ConfigurationError {
            for finding in error.findings { Terminal.say(finding, as: .bad) }
            return .usage
        }
        Terminal.say("\(error)", as: .bad)
        return .defect
    }
}

struct MappingsOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Directory of field tables to use instead of the built-in tables.", valueName: "dir"),
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
