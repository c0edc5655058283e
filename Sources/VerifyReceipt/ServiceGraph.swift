import AppStorePayloads
import AppStoreClients
import Cryptography
import Foundation
package import Storage
package import Logging
import ReceiptDecoding
package import Responses
package import AppStoreTypes
package import Transport

/// The services of one configuration, wired to shared parts.
///
/// A reload creates a new graph from the previous one. Rules and API clients are new. Metrics, cached records, used
/// rate limits, revocations and replay detection are taken over, because a reload must not lose them.
package struct ServiceGraph: Sendable {
    /// Serves old clients: verifyReceipt.
    package let verifyReceipt: VerifyReceiptService
    /// Serves new clients: the JSON view of one customer. Shares API clients, rate limits and trusted certificates with
    /// ``verifyReceipt``.
    package let customerView: CustomerViewService
    /// Receives the App Store's notifications. Shares trusted certificates and stored records with the other services.
    package let notifications: NotificationReceiver
    /// Provides the stored history behind forwarded notifications; `nil` if there is no store.
    package let forwarding: ForwardingContext?
    /// The metrics of all services.
    package let counts: ProxyMetrics
    /// The metrics of each configured app.
    package let countedApps: AppMetricsRegistry
    private let serverAPI: ServerAPISource?

    /// The remaining calls of Apple's hourly rate limits, for endpoints that were called.
    package var budgets: [AppBudget] { serverAPI?.appBudgets ?? [] }

    /// Wires all parts. There is no other place that does.
    ///
    /// - Parameters:
    ///   - transport: `nil` if there are no network connections.
    ///   - store: `nil` if nothing is stored across restarts.
    ///   - previous: the services of the previous configuration. After a reload their caches, metrics and used rate
    ///     limits stay in use.
    ///   - now: the clock.
    ///   - sleep: waits between two calls to Apple.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example a certificate that cannot
    ///   be parsed.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, store: Store? = nil,
        previous: ServiceGraph? = nil,
        tables: FieldTables, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        let counts = previous?.counts ?? ProxyMetrics()
        let countedApps = counts.apps(of: settings)
        (self.counts, self.countedApps) = (counts, countedApps)
        let decoder = ReceiptDecoder(
            trust: try TrustStore(settings: settings), profile: settings.usesTolerantProfile ? .tolerant : .apple)
        let apps = AppRegistry(settings: settings)
        let verifier = SignedPayloadVerifier(trust: decoder.trust)
        // A write to the store invalidates what was read from it before.
        let changes = previous?.notifications.changes ?? CacheInvalidationLog()
        let observations =
            previous?.verifyReceipt.observations
            ?? Self.observations(of: store, changes, counts, logger: logger, now: now)
        let revocations = observations.revocations
        let serverAPI = try transport.map {
            try ServerAPISource(
                settings: settings, transport: $0, verifier: verifier, now: now, writer: observations.writer,
                counts: counts, previous: previous?.verifyReceipt.serverAPI)
        }
        self.serverAPI = serverAPI
        verifyReceipt = VerifyReceiptService(
            decoder: decoder, apps: apps,
            apple: try transport.map {
                try VerifyReceiptSource(settings: settings, transport: $0, counts: counts, sleep: sleep)
            },
            serverAPI: serverAPI,
            stored: previous?.verifyReceipt.stored
                ?? store.map {
                    StoreSource(store: $0, changes: changes, revocations: revocations, logger: logger)
                },
            lastGood: store.flatMap { ResponseArchive(settings, store: $0, observations, logger) },
            observations: observations, replays: previous?.verifyReceipt.replays ?? ReplayDetector(),
            renderer: VerifyReceiptRenderer(tables: tables), counts: counts, countedApps: countedApps,
            deadline: settings.deadline, now: now, sleep: sleep, logger: logger)
        customerView = CustomerViewService(
            decoder: decoder, verifier: verifier, apps: apps, serverAPI: serverAPI, revocations: revocations,
            renderer: CustomerViewRenderer(tables: tables), deadline: settings.deadline, now: now, logger: logger)
        notifications = NotificationReceiver(
            apps: apps, verifier: verifier, decoder: ReceiptDecoder(trust: decoder.trust, profile: .tolerant),
            store: store, serverAPI: serverAPI, revocations: revocations, changes: changes,
            counts: counts.notifications, now: now, logger: logger, previous: previous?.notifications)
        forwarding = store.map {
            ForwardingContext(store: $0, verifier: verifier, apps: apps, serverAPI: serverAPI, now: now)
        }
    }

    /// Creates the observations, loads stored ones as soon as the store is open, and writes new ones to it.
    private static func observations(
        of store: Store?, _ changes: CacheInvalidationLog, _ counts: ProxyMetrics, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) -> UpstreamObservations {
        let writer = store.map { store in
            BackgroundStoreWriter(store: store, logger: logger, now: now) { changes.markChanged($0, in: $1) }
        }
        let observations = UpstreamObservations(
            revocations: RevocationCache(writer: writer, counts: counts), writer: writer)
        store?.whenOpen { [weak store] in
            do throws(StorageError) {
                if let store { try observations.load(from: store) }
            } catch {
                logger.error(
                    "cannot load revocations and receipt identifiers from the store", metadata: ["reason": "\(error)"])
            }
        }
        return observations
    }
}

extension ServiceGraph {
    /// Returns when every queued write is in the store. After that the store may be closed.
    package func finishWriting() async {
        await verifyReceipt.observations.writer?.finish()
    }

    /// Clears the caches of all customers after an erasure, and loads the observations again from the store. Blocks on
    /// disk I/O.
    ///
    /// - Throws: ``StorageError`` if the store cannot be read. The other caches are empty then.
    package func invalidateErasedCustomers(in store: Store) throws(StorageError) {
        verifyReceipt.responseCache?.removeAll()
        verifyReceipt.stored?.removeAll()
        verifyReceipt.serverAPI?.removeAll()
        verifyReceipt.lastGood?.removeAll()
        verifyReceipt.replays.removeAll()
        try verifyReceipt.observations.reload(from: store)
    }
}

extension VerifyReceiptService {
    /// Creates the service without a store and without the other services.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, tables: FieldTables, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        self = try ServiceGraph(
            settings: settings, transport: transport, tables: tables, logger: logger, now: now, sleep: sleep
        ).verifyReceipt
    }
}

extension ResponseArchive {
    /// `nil` if no app needs an archive: its retention is 0 days, or no app names the source `apple`.
    fileprivate convenience init?(
        _ settings: ProxyConfiguration, store: Store, _ observations: UpstreamObservations, _ logger: Logger
    ) {
        guard settings.lastGood.days > 0, settings.apps.contains(where: { $0.answer.contains(.apple) }),
            let writer = observations.writer
        else { return nil }
        self.init(
            limits: settings.lastGood, store: store, writer: writer, revocations: observations.revocations,
            logger: logger)
    }
}

extension TrustStore {
    /// Apple's anchors, and the roots and intermediates of the settings.
    package convenience init(settings: ProxyConfiguration) throws {
        func certificates(_ encodings: [[UInt8]], key: String) throws -> [Certificate] {
            try encodings.map { encoding in
                do throws(CryptographyError) {
                    return try Certificate(der: encoding.span)
                } catch {
                    throw ConfigurationError(["\(key): a certificate cannot be used: \(error.reason)"])
                }
            }
        }
        try self.init(
            anchors: .apple().adding(
                roots: certificates(settings.trustedRoots, key: "trust.roots"),
                intermediates: certificates(settings.intermediates, key: "trust.intermediates")))
    }
}

extension VerifyReceiptSource {
    /// The source for the endpoints of the settings: Apple's, or those of a simulator.
    ///
    /// - Throws: ``ConfigurationError`` if an endpoint is not a usable URL.
    init(
        settings: ProxyConfiguration, transport: any HTTPTransport, counts: ProxyMetrics = ProxyMetrics(),
        sleep: @escaping @Sendable (Duration) async -> Void
    ) throws {
        let endpoints: VerifyReceiptEndpoints
        do {
            endpoints = try VerifyReceiptEndpoints(
                production: settings.verifyReceipt.production, sandbox: settings.verifyReceipt.sandbox)
        } catch {
            throw ConfigurationError(["upstream.verifyReceipt: \(error)"])
        }
        self.init(
            client: VerifyReceiptClient(transport: transport, endpoints: endpoints, counts: counts.upstream),
            sleep: sleep)
    }
}

extension Timestamp {
    /// The time of this machine's clock, in whole milliseconds.
    package static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
