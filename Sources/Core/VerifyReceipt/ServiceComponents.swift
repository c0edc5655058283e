import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeCryptography
package import Logging
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage
package import ReceiptBridgeTransport

/// What the services of one configuration share: trusted certificates, API clients, caches, observations and counters.
/// Without network connections ``serverAPI`` and ``apple`` are `nil`.
///
/// A reload creates new components from the previous ones. Rules and API clients are new. Metrics, cached records, used
/// rate limits, revocations and replay detection are taken over, because a reload must not lose them.
package struct ServiceComponents: Sendable {
    let decoder: ReceiptDecoder
    package let apps: AppRegistry
    /// Verifies signed payloads with the same trusted certificates as ``decoder``.
    package let verifier: SignedPayloadVerifier
    package let serverAPI: ServerAPISource?
    let apple: VerifyReceiptSource?
    /// The records of customers that need no call to Apple.
    let records: RecordsSource
    let lastGood: ResponseArchive?
    let observations: UpstreamObservations
    package let coverage: NotificationCoverage
    let replays: ReplayDetector
    /// The gradual switches of apps to another source. Without a store they do not begin.
    package let rollouts: RolloutRegistry
    package let recordsAtHand: RecordsAtHand
    /// The other servers with the same store; `nil` if there can be none.
    package let cluster: ServerCluster?
    package let counts: ProxyMetrics
    package let countedApps: AppMetricsRegistry
    /// The time from a request to its response.
    package let deadline: RequestDeadline.Limit
    package let now: @Sendable () -> Timestamp
    let sleep: @Sendable (Duration) async -> Void
    package let logger: Logger
    let store: (any Store)?
    /// Loads the observations from the store as soon as it is open.
    private let loading: Task<Void, Never>?

    /// Decodes receipts with every repair, whatever the profile of the settings.
    package var tolerantDecoder: ReceiptDecoder { ReceiptDecoder(trust: decoder.trust, profile: .tolerant) }

    /// The apps that are not configured and whose authentic receipts arrived within the last hour. An app that was
    /// configured meanwhile is left out.
    package var unconfiguredApps: [UnconfiguredApps.Arrivals] {
        counts.unconfiguredApps.recent(at: now()).filter { apps.unconfigured($0.bundleId) != nil }
    }

    package var resolver: AppResolver { AppResolver(self) }

    /// The purchases that became known as revoked.
    package var revocations: KnownRevocations { observations.revocations }

    /// - Parameters:
    ///   - transport: `nil` if there are no network connections.
    ///   - store: `nil` if nothing is stored across restarts.
    ///   - deadline: the time of every request, or `nil` for that of the settings.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example a certificate that cannot
    ///   be parsed.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, store: (any Store)? = nil,
        previous: ServiceComponents? = nil, deadline: RequestDeadline.Limit? = nil, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        let counts = previous?.counts ?? ProxyMetrics()
        self.counts = counts
        countedApps = counts.apps(of: settings)
        decoder = ReceiptDecoder(
            trust: try TrustStore(settings: settings), profile: settings.usesTolerantProfile ? .tolerant : .apple)
        let apps = AppRegistry(settings: settings)
        self.apps = apps
        let throttle = LogThrottle<String>()
        let verifier = SignedPayloadVerifier(trust: decoder.trust) { error in
            counts.leftOut.add(error.name)
            guard throttle.allows(error.name, at: now().sinceEpoch) else { return }
            logger.warning(
                "a member of an App Store record was left out, because its type is unexpected",
                metadata: ["member": "\(error.name)", "reason": "expected \(error.expected)"])
        }
        self.verifier = verifier
        let atHand = previous?.recordsAtHand ?? RecordsAtHand()
        recordsAtHand = atHand
        let observations =
            previous?.observations ?? Self.observations(of: store, atHand, counts, logger: logger, now: now)
        self.observations = observations
        let coverage = previous?.coverage ?? NotificationCoverage()
        self.coverage = coverage
        let canFetch = transport != nil && settings.apps.contains { $0.serverAPI != nil }
        loading =
            previous?.loading
            ?? store.map { store in
                observations.loading(from: store, logger: logger) { () throws(StorageError) in
                    try await coverage.load(from: store.notifications, at: now(), canFetch: canFetch)
                }
            }
        self.store = store
        let cluster =
            previous?.cluster
            ?? store?.cluster.map {
                ServerCluster(store: $0, instance: settings.instanceName)
            }
        self.cluster = cluster
        serverAPI = try transport.map {
            try ServerAPISource(
                settings: settings, transport: $0, verifier: verifier, atHand: atHand, now: now,
                writer: observations.writer,
                revocations: observations.revocations, counts: counts, cluster: cluster, previous: previous?.serverAPI)
        }
        apple = try transport.map {
            try VerifyReceiptSource(settings: settings, transport: $0, counts: counts, sleep: sleep)
        }
        records =
            previous?.records
            ?? RecordsSource(
                atHand: atHand, coverage: coverage, store: store, revocations: observations.revocations,
                logger: logger)
        lastGood = store.flatMap { ResponseArchive(settings, apps: apps, store: $0, observations, logger) }
        rollouts = previous?.rollouts ?? RolloutRegistry()
        replays = previous?.replays ?? ReplayDetector(store: store)
        self.deadline = deadline ?? RequestDeadline.Limit(settings.deadline)
        (self.now, self.sleep, self.logger) = (now, sleep, logger)
    }

    private static func observations(
        of store: (any Store)?, _ atHand: RecordsAtHand, _ counts: ProxyMetrics, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) -> UpstreamObservations {
        let writer = store.map { store in
            BackgroundStoreWriter(store: store, events: counts.events, logger: logger, now: now) {
                atHand.markStored($0, in: $1, by: $2)
            }
        }
        let revocations = KnownRevocations(store: store, writer: writer, counts: counts) {
            atHand.markChanged($0, in: $1)
        }
        return UpstreamObservations(revocations: revocations, writer: writer, store: store)
    }
}

extension ServiceComponents {
    /// Waits until the observations from before the start are loaded, at most 30 seconds. A store that does not open
    /// within ``openingLimit`` is not waited for: its observations are then added later.
    package func whenLoaded() async {
        guard let loading, let store else { return }
        if !store.isOpen {
            _ = await TaskTimeout.value(of: Task { await store.whenOpen() }, within: Self.openingLimit)
        }
        guard store.isOpen else { return }
        _ = await TaskTimeout.value(of: loading, within: .seconds(30))
    }

    /// How long a start waits for a store that is opened in the background, as one on another machine is.
    private static let openingLimit = Duration.seconds(2)

    /// Returns when every queued write is in the store. After that the store may be closed.
    package func finishWriting() async {
        observations.revocations.write(isLast: true)
        await observations.writer?.finish()
    }
}

extension VerifyReceiptService {
    package convenience init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, tables: FieldTables, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        self.init(
            try ServiceComponents(settings: settings, transport: transport, logger: logger, now: now, sleep: sleep),
            tables: tables)
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
