/// The store of the proxy: what it keeps across restarts, by domain.
///
/// A write is durable when its method returns. Every method throws ``StorageError``, for example `notOpen` before the
/// store is open. It has all repositories; callers take the ones that they need.
package protocol Store:
    CustomerStore, NotificationStore, DeliveryOutbox, RevocationStore, RefundStore, ResponseArchiveStore, ComparisonLog,
    ConsumptionCaseStore, PersonalDataStore, EventStore, PresenterStore, LeaseStore, ReconciliationStore, ImportStore
{
    /// What the servers of this store tell each other; `nil` for an engine whose data only one server uses.
    var cluster: (any ClusterStore)? { get }

    var isOpen: Bool { get }
    /// `true` if a file of the store was removed, replaced or truncated while it was open. It is not opened again
    /// before a restart.
    var isLost: Bool { get }
    var writesWaiting: Int { get }

    /// Waits until the store is open. Returns `false` if it was closed before, or cannot be used any more.
    func whenOpen() async -> Bool

    /// Rewrites the files, so that no deleted data is left in them. Needs as much disk space again while it runs;
    /// other processes cannot write during that time. Does nothing if the engine has no files of its own.
    func compact() async throws(StorageError)

    /// Waits for pending writes and closes the store. Later calls throw. Returns why the data is not completely in its
    /// place; `nil` if it is, and for a store that was not open.
    @discardableResult
    func close() async -> StorageError?
}

extension Store {
    /// Customers, their records, and the identifiers that lead to them.
    package var customers: any CustomerStore { self }
    package var notifications: any NotificationStore { self }
    /// Notifications to be forwarded.
    package var outbox: any DeliveryOutbox { self }
    /// Revoked purchases, and what verifyReceipt revealed about receipts.
    package var revocations: any RevocationStore { self }
    package var refunds: any RefundStore { self }
    /// Apple's last good verifyReceipt responses.
    package var archive: any ResponseArchiveStore { self }
    /// Results of the shadow comparison, and gradual switches of apps to another source.
    package var comparisons: any ComparisonLog { self }
    package var consumption: any ConsumptionCaseStore { self }
    package var personalData: any PersonalDataStore { self }
    /// Changes of customers, for export.
    package var events: any EventStore { self }
    package var presenters: any PresenterStore { self }
    package var leases: any LeaseStore { self }
    /// The customers that a reconciliation asks about, and when the last one ended.
    package var reconciliations: any ReconciliationStore { self }
    package var imports: any ImportStore { self }
}
