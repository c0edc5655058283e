import AppStore
import Cryptography
import Foundation
package import Ledger
package import Logging
import ReceiptDecoding
package import Rendering
package import StoreTypes
package import Transport

/// The walks of old and of new clients over the same parts.
package struct ServiceGraph: Sendable {
    /// Of old clients: verifyReceipt.
    package let verifyReceipt: VerifyReceiptService
    /// Of new clients: the customer's one view. Shares clients, budgets and trust with the other.
    package let customerView: CustomerViewService
    /// Of the App Store: what it tells by itself. Shares trust with the others, and what they keep.
    package let notifications: NotificationReceiver
    /// What is known around notifications that are forwarded; nil where nothing is remembered.
    package let forwarding: ForwardingContext?
    /// What all of them count.
    package let counts: ProxyMetrics
    /// The counts of the configured apps.
    package let countedApps: AppMetricsRegistry
    private let serverAPI: ServerAPISource?

    /// What is left of Apple's hourly limits, of endpoints that were asked.
    package var budgets: [AppBudget] { serverAPI?.appBudgets ?? [] }

    /// The only place where parts are wired.
    ///
    /// - Parameters:
    ///   - transport: nil where nobody may be asked.
    ///   - store: nil where nothing is remembered over a restart.
    ///   - previous: what answered before, by another configuration; whatever it has learnt, counted and paid for goes on.
    ///   - now: the clock.
    ///   - sleep: passes the time between two questions to Apple.
    /// - Throws: `ConfigurationError` where the settings name what cannot be used.
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
        // What is new in the store makes old what was read from it.
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

    /// What was known before the start, and is learnt from now on.
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
                logger.error("what was learnt before cannot be read from the store", metadata: ["reason": "\(error)"])
            }
        }
        return observations
    }
}

extension ServiceGraph {
    /// Returns once what was learnt behind the last answers is in the store, which may be closed then.
    package func finishKeeping() async {
        await verifyReceipt.observations.writer?.finish()
    }

    /// Empties what is in memory of customers, whoever they are; what the store holds is read from it again. Waits for the
    /// disk.
    package func invalidateErasedCustomers(in store: Store) throws(StorageError) {
        verifyReceipt.memory?.removeAll()
        verifyReceipt.stored?.removeAll()
        verifyReceipt.serverAPI?.removeAll()
        verifyReceipt.lastGood?.removeAll()
        verifyReceipt.replays.removeAll()
        try verifyReceipt.observations.reload(from: store)
    }
}

extension VerifyReceiptService {
    /// The walk of old clients alone.
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
    /// Nil where no app wants them.
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
    /// Apple's anchors, and what the settings add.
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
    /// Apple's endpoints, or those of a stand-in.
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
    /// This machine's clock.
    package static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
