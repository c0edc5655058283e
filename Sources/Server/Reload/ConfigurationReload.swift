import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeCryptography
import HTTPTypes
import Logging
import ServiceLifecycle
import Synchronization
package import Foundation
import ReceiptBridgeComparison

/// Reloads the configuration on every signal. A configuration with errors is not applied.
package struct ConfigurationReload<Signals: AsyncSequence & Sendable>: Service where Signals.Element: Sendable {
    private let signals: Signals
    private let server: ProxyServer
    private let read: @Sendable () throws(ConfigurationError) -> ProxyConfiguration
    private let make: @Sendable (ProxyConfiguration, _ previous: ServiceGraph) throws -> ServiceGraph
    private let file: CalmFile
    private let logger: Logger

    /// - Parameters:
    ///   - signals: One element for each reload, for example the SIGHUP signals.
    ///   - make: The services take over the state of the previous ones, for example caches and budgets.
    init(
        signals: Signals, server: ProxyServer, file: CalmFile,
        read: @escaping @Sendable () throws(ConfigurationError) -> ProxyConfiguration,
        make: @escaping @Sendable (ProxyConfiguration, _ previous: ServiceGraph) throws -> ServiceGraph, logger: Logger
    ) {
        (self.signals, self.server, self.file) = (signals, server, file)
        (self.read, self.make, self.logger) = (read, make, logger)
    }

    package func run() async throws {
        for try await _ in signals.cancelOnGracefulShutdown() { await reload() }
    }

    /// Applies the whole configuration or nothing. Some keys, for example `listen`, keep their values until a restart.
    private func reload() async {
        let previous = server.live.now
        do {
            let read = try await file.read(read)
            guard !read.apps.isEmpty || previous.settings.apps.isEmpty else {
                throw ConfigurationError(["apps: there are none left; restart the server if that is meant"])
            }
            let changes = ConfigurationDiff(from: previous.settings, to: read)
            let settings = read.keepingFixedKeys(of: previous.settings)
            try server.apply(settings, make(settings, previous.pipelines))
            if !changes.needRestart.isEmpty {
                logger.warning(
                    "configuration keys changed that need a restart",
                    metadata: ["keys": "\(changes.needRestart.joined(separator: ", "))"])
            }
            logger.notice(
                "configuration reloaded",
                metadata: ["changed": "\(changes.applied.isEmpty ? "-" : changes.applied.joined(separator: ", "))"])
            if settings.apps.count > max(previous.settings.apps.count, 1) { await warnAboutSharedIdentifiers() }
        } catch let error as ConfigurationError {
            for finding in error.findings { refuse(finding) }
        } catch is CancellationError {
        } catch {
            refuse("\(error)")
        }
    }

    /// Warns if an id is known for several apps: requests with such an id worked without an app before.
    private func warnAboutSharedIdentifiers() async {
        let apps = await server.live.now.pipelines.ambiguousApps
        guard !apps.isEmpty else { return }
        logger.warning(
            "several apps know the same ids; requests with such an id must name the app with bundleId",
            metadata: ["apps": "\(apps.map(\.rawValue).joined(separator: ", "))"])
    }

    private func refuse(_ finding: String) {
        logger.error(
            "configuration reload failed; keeping the previous configuration", metadata: ["finding": "\(finding)"])
    }
}

/// The configuration and services that serve new requests. A reload replaces both at once; a request that is in
/// progress continues with the ones it started with.
package final class ReloadableState: Sendable {
    package final class Snapshot: Sendable {
        package let settings: ProxyConfiguration
        package let pipelines: ServiceGraph
        let certificate: ListenerCertificate?
        /// Whether any app compares its sources in the background (`shadow`, `rollout`).
        let isShadowed: Bool
        /// The header in which a caller names its user; `nil` if none is configured.
        let userHeader: HTTPField.Name?

        /// - Throws: `ConfigurationError` if the certificate of `tls` cannot be used.
        init(settings: ProxyConfiguration, pipelines: ServiceGraph) throws(ConfigurationError) {
            do throws(ListenerCertificateError) {
                certificate = try settings.tls.map { files throws(ListenerCertificateError) in
                    try ListenerCertificate(files)
                }
            } catch {
                throw ConfigurationError(["tls: \(error.expected)"])
            }
            self.settings = settings
            self.pipelines = pipelines
            userHeader = settings.userHeader.flatMap { HTTPField.Name($0) }
            isShadowed = settings.apps.contains(where: \.isCompared)
        }
    }

    private let snapshot: Mutex<Snapshot>

    /// - Throws: `ConfigurationError` if the certificate of `tls` cannot be used.
    init(settings: ProxyConfiguration, pipelines: ServiceGraph) throws(ConfigurationError) {
        snapshot = Mutex(try Snapshot(settings: settings, pipelines: pipelines))
    }

    package var now: Snapshot { snapshot.withLock { $0 } }

    /// - Throws: `ConfigurationError` if the certificate of `tls` cannot be used. Then the current snapshot stays.
    func exchange(settings: ProxyConfiguration, pipelines: ServiceGraph) throws(ConfigurationError) {
        let new = try Snapshot(settings: settings, pipelines: pipelines)
        snapshot.withLock { $0 = new }
    }
}

/// A file that someone may be writing at this moment. The first half of a configuration can be a valid one.
package struct CalmFile: Sendable {
    /// Time for which the file must not have changed before it is read.
    private static let calm = Duration.seconds(1).atTestSpeed(atLeast: .milliseconds(100))
    private static let maximumReads = 30

    private let changedAt: @Sendable () -> Date?
    private let now: @Sendable () -> Date
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter changedAt: Returns when the file was last changed; `nil` if there is none.
    package init(
        changedAt: @escaping @Sendable () -> Date?, now: @escaping @Sendable () -> Date = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.changedAt, self.now, self.sleep) = (changedAt, now, sleep)
    }

    /// Reads the file when it has not changed for a second, and again if it changes meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the file keeps changing, the error of `read`, or that of `sleep`.
    package func read<Value>(_ read: () throws -> Value) async throws -> Value {
        for _ in 0..<Self.maximumReads {
            let changed = changedAt()
            let age = changed.map { Duration.seconds(now().timeIntervalSince($0)) } ?? Self.calm
            // After a change of the clock, the time of the file may be in the future.
            if age >= .zero, age < Self.calm {
                try await sleep(Self.calm - age)
                continue
            }
            let result = Result { try read() }
            if changedAt() == changed { return try result.get() }
        }
        throw ConfigurationError(["the file keeps changing"])
    }
}

extension ExternalChecks {
    /// The checks of this program: its comparison rules, and what its TLS listener accepts.
    package static let server = ExternalChecks(comparisonRules: ComparisonRules.all.map(\.name)) {
        files throws(ListenerCertificateError) in
        _ = try ListenerCertificate(files)
    }
}
