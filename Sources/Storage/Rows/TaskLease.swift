package import ReceiptBridgeBase

/// Work that only one process at a time does for all processes with the same store. The raw values are stored.
package enum SharedTask: String, Sendable, Hashable, CaseIterable {
    /// Deletes expired rows.
    case retention
    /// Deletes archived responses beyond the limits of the archive.
    case archive
    case refunds
    /// Fetches the notifications of an outage from Apple's notification history.
    case catchUp
    /// Finds out whether purchases were refunded after Apple asked about them.
    case refundDecisions
    /// Asks the App Store about changes that no notification reported.
    case reconciliation
    /// Looks up customers that need it.
    case lookups
}

/// The exclusive right to do a task until a time by the store's clock.
package struct TaskLease: Sendable, Hashable {
    package let task: SharedTask
    /// Identifies the holder, see ``LeaseStore/claim(_:for:lasting:)``.
    package let holder: String
    /// Ascends with every holder of the task. A holder whose term is not the current one has lost the lease.
    package let term: Int64
    package let expiresAt: Timestamp

    package init(task: SharedTask, holder: String, term: Int64, expiresAt: Timestamp) {
        (self.task, self.holder, self.term, self.expiresAt) = (task, holder, term, expiresAt)
    }
}
