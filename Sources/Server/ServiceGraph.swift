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
    package let verifyReceipt: VerifyReceiptService
    /// Serves new clients: the JSON view of one customer.
    package let customerView: CustomerViewService
    package let notifications: NotificationReceiver
    package let forwarding: ForwardingContext?
    package let operations: AppOperations
    private let components: ServiceComponents

    package var cluster: ServerCluster? { components.cluster }

    package var rollouts: RolloutRegistry { components.rollouts }

    package var counts: ProxyMetrics { components.counts }

    /// Those whose authentic receipts arrived within the last hour, with a notice for operators.
    var unconfiguredApps: [(arrivals: UnconfiguredApps.Arrivals, notice: String)] {
        components.unconfiguredApps.map { ($0, components.apps.notice(of: $0.bundleId)) }
    }

    /// The remaining calls of Apple's hourly rate limits, for endpoints that were called.
    package var budgets: [AppBudget] { components.serverAPI?.appBudgets ?? [] }

    /// Configured apps that know an id in common; none if no two do, see ``AppResolver/ambiguousApps()``.
    var ambiguousApps: [BundleIdentifier] { get async { await components.resolver.ambiguousApps() } }

    /// See ``ServiceComponents``.
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

    package func finishWriting() async { await components.finishWriting() }

    /// See ``ServiceComponents/whenLoaded()``.
    package func whenLoaded() async { await components.whenLoaded() }

    /// Discards what is outdated in memory because of changes by other servers. Throws if the store cannot be read.
    package func apply(_ page: ChangePage, from store: any Store) async throws(StorageError) {
        if page.hasGap { try await invalidateErasedCustomers(in: store) }
        try await components.apply(page.changes, from: store.revocations)
    }

    package func giveBackCalls() async { await components.giveBackCalls() }

    /// See ``VerifyReceiptService/invalidateErasedCustomers(in:)``.
    package func invalidateErasedCustomers(in store: any Store) async throws(StorageError) {
        try await verifyReceipt.invalidateErasedCustomers(in: store)
    }
}
