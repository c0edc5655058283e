import Administration
import ArgumentParser
import BridgeConfiguration
import Cryptography
import Foundation
import Logging
import Notifications
import Responses
import Server
import ServiceLifecycle
import Storage
import Transport
import UnixSignals
import VerifyReceipt

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

    /// Runs the server until SIGTERM or SIGINT. Resources are closed in the reverse order of their use: first the
    /// listeners, then upstream connections, then the store after its pending writes.
    func run() async throws {
        let level = verbose ? .info : quiet ? .warning : logLevel
        let logger = Logger.toStandardError(
            level: Logger.Level(rawValue: level.rawValue) ?? .notice, format: logFormat, metadataProvider: .request)
        CoreDumps.disable()
        // Installed before anything else: from here on SIGHUP no longer ends the process.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let transport: CurlTransport
        let server: ProxyServer
        let store: (any Store)?
        let reload: ConfigurationReload<UnixSignalsSequence>
        do {
            // Without SHA-1 and RSA-1024 the server would reject genuine old receipts, so it does not start.
            try SelfTest.run()
            let settings = try read(logger)
            // Later, for example after a reload, a key that cannot be used is a warning only.
            try settings.checkIndispensableKeys()
            let memory = MemoryBudget(of: settings, logger: logger)
            let descriptors = try FileDescriptorBudget(of: settings, within: memory, logger: logger)
            if settings.hasNoApp { logger.warning("\(ProxyConfiguration.noAppSentence)") }
            for variable in settings.unknownVariables {
                logger.notice(
                    "environment variable is not used by this version\(variable.question)",
                    metadata: ["key": "\(variable.name)"])
            }
            let bodies = RequestBodyBudget(memory.bodies, logger: logger)
            transport = try CurlTransport(settings: settings, limits: descriptors.upstream, memory: bodies)
            store = openStore(settings, logger)
            warn(of: settings, store, logger)
            let upstream = CircuitBreakingTransport(transport) { logger.note($0) }
            let pipelines = try ServiceGraph(
                settings: settings, transport: upstream, store: store, tables: settings.tables, logger: logger)
            await pipelines.whenLoaded()
            let shadow = Shadow(
                settings: settings, pipeline: pipelines.verifyReceipt, store: store,
                logger: logger)
            let forwarder = Forwarder(
                settings: settings, context: pipelines.forwarding, transport: transport, tables: settings.tables,
                logger: logger)
            server = try ProxyServer(
                settings: settings, pipelines: pipelines, store: store, shadow: shadow, forwarder: forwarder,
                upstream: upstream, version: ReceiptBridge.version,
                bodies: bodies, descriptors: descriptors, logger: logger
            ) { [logFormat, configuration] ports in
                var address = settings.listen
                address.port = ports.public
                // Written at every log level, because scripts wait for it.
                var announcing = logger
                announcing.logLevel = .notice
                announcing.notice("listening on \(settings.tls == nil ? "http" : "https")://\(address)")
                if logFormat.isText {
                    Terminal.note(StartSummary(settings, ports: ports, configuration: configuration.name).text)
                }
            }
            let reloadStore = store
            reload = ConfigurationReload(
                signals: hangups, server: server, file: CalmFile { [configuration] in configuration.changedAt },
                read: { () throws(ConfigurationError) in
                    if configuration.isStream {
                        logger.warning(
                            "the configuration is from a pipe and is not read again; the files that it names are")
                    }
                    return try read(logger)
                },
                make: { settings, previous in
                    try ServiceGraph(
                        settings: settings, transport: upstream, store: reloadStore, previous: previous,
                        tables: settings.tables, logger: logger)
                }, logger: logger)
        } catch {
            throw ConfigurationOptions.report(error)
        }
        // Below this level, the package logs its whole configuration, with every object of the server.
        var serviceLogger = logger
        serviceLogger.logLevel = max(logger.logLevel, .info)
        do {
            try await ServiceGroup(
                configuration: .init(
                    services: [reload, server], gracefulShutdownSignals: [.sigterm, .sigint], logger: serviceLogger)
            ).run()
        } catch let error as ConfigurationError {
            throw ConfigurationOptions.report(error)
        } catch {
            Terminal.say("stopped: \(error)")
            await transport.shutDown()
            await close(store, logger)
            throw ExitCode.usage
        }
        await transport.shutDown()
        await server.live.now.pipelines.finishWriting()
        await close(store, logger)
    }

    /// Closes the store, which copies its write-ahead log into the file. If that fails, a backup needs both files.
    private func close(_ store: (any Store)?, _ logger: Logger) async {
        guard let failure = await store?.close() else { return }
        logger.warning(
            "the store file is incomplete without its -wal file; copy both files",
            metadata: ["reason": "\(failure)"])
    }

    /// Warns about files that other users can read or change. The store is made private if it belongs to this user;
    /// secret files are not changed.
    private func warn(of settings: ProxyConfiguration, _ store: (any Store)?, _ logger: Logger) {
        let warn: @Sendable (String, String) -> Void = { path, others in
            logger.warning(
                "a private file can be read or changed by other users",
                metadata: ["path": "\(path)", "by": "\(others)"])
        }
        for path in Set(settings.secretFiles.map(\.path)).sorted() {
            if let others = FileExposure(path: path) { warn(path, others.description) }
        }
        guard let store, let path = settings.store?.path else { return }
        let warnOfStore: @Sendable () -> Void = {
            for file in StoreFiles.exposed(of: path) { warn(file.path, file.exposure.description) }
        }
        if store.isOpen { return warnOfStore() }
        Task { if await store.whenOpen() { warnOfStore() } }
    }

    /// Reads the configuration. Flags take precedence over environment variables, and these over the file.
    private func read(_ logger: Logger) throws(ConfigurationError) -> ProxyConfiguration {
        let settings = try configuration.settings([configuration.addRoots, mappings.apply, listen]) {
            logger.notice("\($0)")
        }
        for form in settings.apps.flatMap(\.unusualForms) { logger.warning("\(form)") }
        return settings
    }

    /// Applies `--listen`.
    private func listen(in settings: inout ProxyConfiguration) throws(ConfigurationError) {
        guard let listen else { return }
        guard let address = ProxyConfiguration.Address(listen) else {
            throw ConfigurationError(["--listen: \(listen) is not HOST:PORT, for example 127.0.0.1:8080"])
        }
        settings.listen = address
    }

    /// Opens the store, or starts without it: requests are answered even if the store is unavailable. Opening is
    /// retried.
    private func openStore(_ settings: ProxyConfiguration, _ logger: Logger) -> (any Store)? {
        guard let address = settings.store else { return nil }
        return StoreOpening.openRetrying(address, settings.database, recordsEvents: settings.recordsEvents) { error in
            if let error {
                logger.error(
                    "store unavailable; running without persistence, will retry",
                    metadata: ["reason": "\(error)"])
            } else {
                logger.notice("store opened")
            }
        }
    }
}

extension CurlTransport {
    /// - Parameters:
    ///   - limits: `nil` for the limits of a command, which makes fewer exchanges at once than a server.
    ///   - memory: `nil` if the memory of responses is not limited.
    /// - Throws: `ConfigurationError`, `TransportError`.
    convenience init(
        settings: ProxyConfiguration, limits: ExchangeSchedule.Limits? = nil, memory: (any ResponseMemory)? = nil
    ) throws {
        var configuration = CurlConfiguration(
            version: ReceiptBridge.version, proxy: settings.upstreamProxy.map { .url($0) } ?? .environment)
        configuration.memory = memory
        if let limits {
            configuration.limits = limits
        } else if let connections = settings.upstreamConnections {
            configuration.limits.perOrigin = min(Int(connections), configuration.limits.total)
        }
        try self.init(configuration)
    }
}

extension Logger {
    /// Logs that a circuit breaker has opened or closed.
    fileprivate func note(_ host: CircuitBreakingTransport.HostState) {
        log(
            level: host.state == .closed ? .notice : .error,
            host.state == .closed
                ? "circuit breaker closed for App Store host; the host responds again"
                : "circuit breaker open for App Store host; requests are not sent until it recovers",
            metadata: [
                "host": "\(host.host)", "state": "\(host.state.rawValue)", "opened": .stringConvertible(host.opened),
            ])
    }
}
