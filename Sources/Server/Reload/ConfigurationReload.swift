import Cryptography
package import Logging
package import Pipeline
import ServiceLifecycle

/// Reloads the configuration on every signal. A configuration with errors is not applied.
package struct ConfigurationReload<Signals: AsyncSequence & Sendable>: Service where Signals.Element: Sendable {
    private let signals: Signals
    private let server: ProxyServer
    private let read: @Sendable () throws(ConfigurationError) -> ProxyConfiguration
    private let make: @Sendable (ProxyConfiguration, _ previous: ServiceGraph) throws -> ServiceGraph
    private let logger: Logger

    /// - Parameters:
    ///   - signals: One element for each reload, for example the SIGHUP signals.
    ///   - read: Reads and checks the configuration.
    ///   - make: Creates the pipelines for a configuration. They take over the state of the previous pipelines, for
    ///     example caches and
    ///     budgets.
    package init(
        signals: Signals, server: ProxyServer,
        read: @escaping @Sendable () throws(ConfigurationError) -> ProxyConfiguration,
        make: @escaping @Sendable (ProxyConfiguration, _ previous: ServiceGraph) throws -> ServiceGraph, logger: Logger
    ) {
        self.signals = signals
        self.server = server
        self.read = read
        self.make = make
        self.logger = logger
    }

    package func run() async throws {
        for try await _ in signals.cancelOnGracefulShutdown() { reload() }
    }

    private func reload() {
        let previous = server.live.now
        do {
            let read = try read()
            let changes = ConfigurationDiff(from: previous.settings, to: read)
            let settings = read.keepingFixedKeys(of: previous.settings)
            server.apply(settings, try make(settings, previous.pipelines))
            if !changes.needRestart.isEmpty {
                logger.warning(
                    "configuration keys changed that need a restart",
                    metadata: ["keys": "\(changes.needRestart.joined(separator: ", "))"])
            }
            logger.notice(
                "configuration reloaded",
                metadata: ["changed": "\(changes.applied.isEmpty ? "-" : changes.applied.joined(separator: ", "))"])
        } catch let error as ConfigurationError {
            for finding in error.findings { refuse(finding) }
        } catch {
            refuse("\(error)")
        }
    }

    private func refuse(_ finding: String) {
        logger.error(
            "configuration reload failed; keeping the previous configuration", metadata: ["finding": "\(finding)"])
    }
}
