package import ReceiptBridgeBase
package import ReceiptBridgeCore
package import Logging
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage
package import ReceiptBridgeTransport

/// The services of one configuration, wired to shared parts.
///
/// A reload creates a new graph from the previous one, see ``ServiceComponents``.
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
    /// The operations of support and finance teams.
    package let operations: AppOperations
    private let components: ServiceComponents

    /// The other servers with the same store; `nil` if there can be none.
    package var cluster: ServerCluster? { components.cluster }

    /// The gradual switches of apps to another source.
    package var rollouts: RolloutRegistry { components.rollouts }

    /// The metrics of all services.
    package var counts: ProxyMetrics { components.counts }

    /// The apps that are not configured and whose authentic receipts arrived within the last hour, with a notice for
    /// operators.
    var unconfiguredApps: [(arrivals: UnconfiguredApps.Arrivals, notice: String)] {
        components.unconfiguredApps.map { ($0, components.apps.notice(of: $0.bundleId)) }
    }

    /// The remaining calls of Apple's hourly rate limits, for endpoints that were called.
    package var budgets: [AppBudget] { components.serverAPI?.appBudgets ?? [] }

    /// Configured apps that know an id in common; none if no two do, see ``AppResolver/ambiguousApps()``.
    var ambiguousApps: [BundleIdentifier] { get async { await components.resolver.ambiguousApps() } }

    /// Wires the services of a configuration.
    ///
    /// - Parameters:
    ///   - transport: `nil` if there are no network connections.
    ///   - store: `nil` if nothing is stored across restarts.
    ///   - previous: the services of the previous configuration. After a reload their caches, metrics and used rate
    ///     limits stay in use.
    ///   - deadline: the time of every request, or `nil` for that of the settings.
    ///   - now: the clock.
    ///   - sleep: waits between two calls to Apple.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example a certificate that cannot
    ///   be parsed.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, store: (any Store)? = nil,
        previous: ServiceGraph? = nil, deadline: RequestDeadline.Limit? = nil,
        tables: FieldTables, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) throws {
        let components = try ServiceComponents(
            settings: settings, transport: transport, store: store, previous: previous?.components, deadline: deadline,
            logger: logger, now: now, sleep: sleep)
        self.components = components
        verifyReceipt = VerifyReceiptService(components, tables: tables)
        customerView = CustomerViewService(components, tables: tables)
        let notifications = NotificationReceiver(components, store: store, previous: previous?.notifications)
        self.notifications = notifications
        operations = AppOperations(components, store: store)
        forwarding = store.map { ForwardingContext(components, store: $0, arrivals: notifications.arrivals) }
    }

    /// Returns when every queued write is in the store. After that the store may be closed.
    package func finishWriting() async { await components.finishWriting() }

    /// Waits until the observations from before the start are loaded, at most 30 seconds. A store that does not open
    /// within 2 seconds is not waited for: its observations are then added later.
    package func whenLoaded() async { await components.whenLoaded() }

    /// Discards what is outdated in memory because of changes by other servers.
    ///
    /// - Throws: ``StorageError`` if the store cannot be read.
    package func apply(_ page: ChangePage, from store: any Store) async throws(StorageError) {
        if page.hasGap { try await invalidateErasedCustomers(in: store) }
        try await components.apply(page.changes, from: store.revocations)
    }

    /// Gives the calls to Apple back that this server has taken from shared buckets and not made.
    package func giveBackCalls() async { await components.giveBackCalls() }

    /// Clears the caches of all customers after an erasure, and loads the observations again from the store.
    ///
    /// - Throws: ``StorageError`` if the store cannot be read. The other caches are empty then.
    package func invalidateErasedCustomers(in store: any Store) async throws(StorageError) {
        try await verifyReceipt.invalidateErasedCustomers(in: store)
    }
}
