import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Logging
import ReceiptBridgeServer
import ReceiptBridgeStorage
import UnixSignals

/// The `serve` command: the proxy.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the verifyReceipt proxy server.",
        discussion: """
            Works without any configuration: requests are forwarded to Apple, and if Apple is unavailable the response is \
            computed from the receipt itself.

            Example:
              receipt-bridge serve --config receipt-bridge.yaml --listen 127.0.0.1:8080
            """
    )

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @Option(help: ArgumentHelp("Address to listen on; IPv6 as [::]:8080.", valueName: "host:port"))
    var listen: String?
    @OptionGroup var mappings: MappingsOption
    @Option(
        help: ArgumentHelp(
            "Lowest level of log messages to write: debug, info, notice, warning, error.", valueName: "level"))
    var logLevel = LogLevel.notice
    @Flag(name: .shortAndLong, help: "The same as --log-level info.")
    var verbose = false
    @Flag(name: .shortAndLong, help: "The same as --log-level warning.")
    var quiet = false
    @Option(help: "Form of the log: JSON lines, text for people, or text only on a terminal.")
    var logFormat = LogFormatName.auto

    enum LogLevel: String, ExpressibleByArgument, CaseIterable {
        case debug, info, notice, warning, error
    }

    func validate() throws {
        guard !(verbose && quiet) else { throw ValidationError("--verbose and --quiet cannot be combined") }
    }

    func run() async throws {
        let level = verbose ? .info : quiet ? .warning : logLevel
        let logger = Logger.toStandardError(
            level: Logger.Level(rawValue: level.rawValue) ?? .notice, format: logFormat, metadataProvider: .request)
        CoreDumps.disable()
        // Installed before anything else: from here on SIGHUP does not end the process.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let assembly: ServerAssembly
        do {
            // Without SHA-1 and RSA-1024 the server would reject genuine old receipts, so it does not start.
            try SelfTest.run()
            let settings = try read(logger)
            note(settings, logger)
            assembly = try await ServerAssembly(settings, version: ReceiptBridge.version, logger: logger) { ports in
                announce(ports, settings, logger)
            }
            if let path = settings.store?.path {
                assembly.whenStoreOpens {
                    for file in StoreFiles.exposed(of: path) { warn(of: file.path, file.exposure, logger) }
                }
            }
        } catch {
            throw ConfigurationOptions.report(error)
        }
        do {
            try await assembly.run(reloadingOn: hangups, CalmFile { [configuration] in configuration.changedAt }) {
                () throws(ConfigurationError) in
                if configuration.isStream {
                    logger.warning(
                        "the configuration is from a pipe and is not read again; the files that it names are")
                }
                return try read(logger)
            }
        } catch let error as ConfigurationError {
            throw ConfigurationOptions.report(error)
        } catch {
            Terminal.say("stopped: \(error)")
            throw ExitCode.usage
        }
    }

    private func note(_ settings: ProxyConfiguration, _ logger: Logger) {
        if settings.hasNoApp { logger.warning("\(ProxyConfiguration.noAppSentence)") }
        for variable in settings.unknownVariables {
            logger.notice(
                "environment variable is not used by this version\(variable.question)",
                metadata: ["key": "\(variable.name)"])
        }
        for path in Set(settings.secretFiles.map(\.path)).sorted() {
            if let exposure = FileExposure(path: path) { warn(of: path, exposure, logger) }
        }
    }

    /// Says that the server listens, at every log level, because scripts wait for it.
    private func announce(_ ports: ListeningPorts, _ settings: ProxyConfiguration, _ logger: Logger) {
        var (address, announcing) = (settings.listen, logger)
        address.port = ports.public
        announcing.logLevel = .notice
        announcing.notice("listening on \(settings.tls == nil ? "http" : "https")://\(address)")
        if logFormat.isText {
            Terminal.note(StartSummary(settings, ports: ports, configuration: configuration.name).text)
        }
    }

    /// Warns of a file that other users can read or change. The store is made private if it belongs to this user;
    /// secret files are not changed.
    private func warn(of path: String, _ exposure: FileExposure, _ logger: Logger) {
        logger.warning(
            "a private file can be read or changed by other users",
            metadata: ["path": "\(path)", "by": "\(exposure.description)"])
    }

    /// Reads the configuration. Flags take precedence over environment variables, and these over the file.
    private func read(_ logger: Logger) throws(ConfigurationError) -> ProxyConfiguration {
        let settings = try configuration.settings([configuration.addRoots, mappings.apply, listen]) {
            logger.notice("\($0)")
        }
        for form in settings.apps.flatMap(\.unusualForms) { logger.warning("\(form)") }
        return settings
    }

    private func listen(in settings: inout ProxyConfiguration) throws(ConfigurationError) {
        guard let listen else { return }
        guard let address = ProxyConfiguration.Address(listen) else {
            throw ConfigurationError(["--listen: \(listen) is not HOST:PORT, for example 127.0.0.1:8080"])
        }
        settings.listen = address
    }
}
