package import AppStoreTypes

/// Refund histories, and which refunds were reported.
package protocol RefundStore: Sendable {
    /// Returns one target for each customer, without those swept at or after that time, in pages. A page can be empty
    /// although others follow. Records that are known only from notifications are grouped by app transaction id,
    /// otherwise by subscription.
    ///
    /// - Parameter position: ``RefundTargetPage/next`` of the page before; 0 for the first page.
    func refundTargets(
        notSweptSince start: Timestamp, after position: Int64
    ) async throws(StorageError) -> RefundTargetPage

    /// Returns the number of targets that ``refundTargets(notSweptSince:after:)`` returns in all pages. Can take
    /// minutes in a large store.
    func countRefundTargets(notSweptSince start: Timestamp) async throws(StorageError) -> Int

    /// Returns the target of one customer, or `nil` if it was swept at or after that time.
    func refundTarget(
        _ identifier: TransactionIdentifier, in scope: AppScope, notSweptSince start: Timestamp
    ) async throws(StorageError) -> RefundTarget?

    /// Stores the refund history of a customer. From then on every response takes the refunds into account. A
    /// subscription with a new refund is marked for a lookup, because the refund does not include the subscription's
    /// status.
    ///
    /// - Parameters:
    ///   - revision: revision to continue from in the next sweep; `nil` if there is no such history.
    ///   - source: becomes part of the events.
    ///   - targetKeys: the targets to which refunds are forwarded that were not known, see ``CustomerReport``.
    /// - Returns: the number of refunds that were not known.
    @discardableResult
    func save(
        _ refunds: [RefundRow], of target: RefundTarget, revision: String?, at now: Timestamp, source: EventSource,
        reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Int

    /// Returns refunds that have not been reported, in the order in which they were found.
    func unreportedRefunds(limit: Int) async throws(StorageError) -> [UnreportedRefund]

    /// Marks refunds as reported. If they were written to a file, records the new size of the file.
    func markReported(
        _ refunds: [UnreportedRefund], in output: (path: String, size: Int64)?
    ) async throws(StorageError)

    /// Records a new output file before anything is written to it. So a sweep that is killed recognizes the file as
    /// its own when it resumes.
    func beginRefundOutput(_ path: String) async throws(StorageError)

    /// Removes the record of an output file after a completed sweep that wrote nothing. A later file at that path
    /// belongs to another program.
    func endRefundOutput(_ path: String) async throws(StorageError)

    /// Returns the recorded size of an output file in bytes, or `nil` if none is recorded.
    func sizeOfRefundOutput(_ path: String) async throws(StorageError) -> Int64?
}

extension RefundStore {
    /// Stores the refund history that a sweep has read. Nothing of it is forwarded.
    package func save(
        _ refunds: [RefundRow], of target: RefundTarget, revision: String?, at now: Timestamp,
        source: EventSource = .refundSweep
    ) async throws(StorageError) {
        try await save(refunds, of: target, revision: revision, at: now, source: source, reportingTo: [])
    }
}
