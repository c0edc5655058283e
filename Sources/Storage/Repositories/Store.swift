/// The store of the proxy: what it keeps across restarts, by domain.
///
/// A write is durable when its method returns. Every method throws ``StorageError``, for example `notOpen` before the
/// store is open. An engine implements the repositories; callers take the ones that they need.
package protocol Store: Sendable {
    /// Customers, their records, and the identifiers that lead to them.
    var customers: any CustomerStore { get }
    /// Received notifications.
    var notifications: any NotificationStore { get }
    /// Notifications to be forwarded.
    var outbox: any DeliveryOutbox { get }
    /// Revoked purchases, and what verifyReceipt revealed about receipts.
    var revocations: any RevocationStore { get }
    /// Refund histories.
    var refunds: any RefundStore { get }
    /// Apple's last good verifyReceipt responses.
    var archive: any ResponseArchiveStore { get }
    /// Results of the shadow comparison.
    var comparisons: any ComparisonLog { get }
    /// Extensions of renewal dates.
    var extensions: any ExtensionLog { get }
    /// Orders that were looked up.
    var orders: any OrderLog { get }
    /// Apple's requests for consumption information.
    var consumption: any ConsumptionCaseStore { get }
    /// Erasure and retention.
    var personalData: any PersonalDataStore { get }
    /// Changes of customers, for export.
    var events: any EventStore { get }
    /// The key of bridge handles, and which customers they must no longer open.
    var handles: any BridgeHandleStore { get }
    /// The first presenters of purchases.
    var presenters: any PresenterStore { get }
    /// Leases of tasks that one process does for all.
    var leases: any LeaseStore { get }
    /// Gradual switches of apps to another source.
    var rollouts: any RolloutStore { get }
    /// The customers that a reconciliation asks about, and when the last one ended.
    var reconciliations: any ReconciliationStore { get }
    /// What the servers of this store tell each other; `nil` for an engine whose data only one server uses.
    var cluster: (any ClusterStore)? { get }

    /// Where the data is, for messages: the path of a file, for example.
    var place: String { get }
    /// `true` if the store can be read and written.
    var isOpen: Bool { get }
    /// `true` if the data of the store was removed or replaced while it was open. It is not opened again before a
    /// restart.
    var isLost: Bool { get }
    /// Number of writes in the queue.
    var writesWaiting: Int { get }
    /// Counters since the store was opened.
    var metrics: StoreMetrics { get }

    /// Waits until the store is open. Returns `false` if it was closed before, or cannot be used any more.
    func whenOpen() async -> Bool

    /// Rewrites the files, so that no deleted data is left in them. Needs as much disk space again while it runs;
    /// other processes cannot write during that time. Does nothing if the engine has no files of its own.
    func compact() async throws(StorageError)

    /// Waits for pending writes and closes the store. Later calls throw.
    ///
    /// - Returns: why the data is not completely in its place; `nil` if it is, and for a store that was not open.
    @discardableResult
    func close() async -> StorageError?
}

/// A store whose engine implements every repository itself.
extension Store
where
    Self: CustomerStore & NotificationStore & DeliveryOutbox & RevocationStore & RefundStore & ResponseArchiveStore
        & ComparisonLog & ExtensionLog & OrderLog & ConsumptionCaseStore & PersonalDataStore & EventStore
        & BridgeHandleStore & PresenterStore & LeaseStore & RolloutStore & ReconciliationStore
{
    package var customers: any CustomerStore { self }
    package var notifications: any NotificationStore { self }
    package var outbox: any DeliveryOutbox { self }
    package var revocations: any RevocationStore { self }
    package var refunds: any RefundStore { self }
    package var archive: any ResponseArchiveStore { self }
    package var comparisons: any ComparisonLog { self }
    package var extensions: any ExtensionLog { self }
    package var orders: any OrderLog { self }
    package var consumption: any ConsumptionCaseStore { self }
    package var personalData: any PersonalDataStore { self }
    package var events: any EventStore { self }
    package var handles: any BridgeHandleStore { self }
    package var presenters: any PresenterStore { self }
    package var leases: any LeaseStore { self }
    package var rollouts: any RolloutStore { self }
    package var reconciliations: any ReconciliationStore { self }
}
