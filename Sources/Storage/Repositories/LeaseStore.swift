import ReceiptBridgeBase

/// Leases of tasks that only one process at a time does. All times are those of the store's clock, so the clocks of the
/// processes do not matter.
package protocol LeaseStore: Sendable {
    /// Claims a task if it has no holder or the lease of its holder has expired; otherwise returns `nil`. A holder that
    /// claims its own task again extends the lease and keeps the term. The lease expires after `duration`, unless it is
    /// renewed.
    ///
    /// The name of the holder is unique to it. If it begins with ``DeliveryLease/process`` and a slash, an engine whose
    /// processes run on one machine may end the lease when the process has ended.
    func claim(_ task: SharedTask, for holder: String, lasting duration: Duration) async throws(StorageError)
        -> TaskLease?

    /// Extends a lease. A lease that has expired is extended too, unless another holder has claimed the task. Returns
    /// `nil` if another holder has or had the task. Then the work must stop.
    func renew(_ lease: TaskLease, lasting duration: Duration) async throws(StorageError) -> TaskLease?

    /// Ends a lease before it expires. Does nothing if another holder has the task.
    func release(_ lease: TaskLease) async throws(StorageError)
}

extension LeaseStore where Self: SQLEngine {
    package func renew(_ lease: TaskLease, lasting duration: Duration) async throws(StorageError) -> TaskLease? {
        try await write([
            SQLStatement(
                """
                UPDATE lease SET expiresAt = \(dialect.now("$5")) + $4 WHERE name = $1 AND holder = $2 AND term = $3
                RETURNING expiresAt
                """, .text(lease.task.rawValue), .text(lease.holder), .integer(lease.term),
                .integer(duration.inMilliseconds), SQLValue(Timestamp.now))
        ]) { (row) throws(StorageError) in
            TaskLease(task: lease.task, holder: lease.holder, term: lease.term, expiresAt: try row.timestamp(0))
        }.first
    }

    package func release(_ lease: TaskLease) async throws(StorageError) {
        try await write([
            // Without a holder, so that a renewal which arrives later extends nothing.
            SQLStatement(
                "UPDATE lease SET holder = '', expiresAt = 0 WHERE name = $1 AND holder = $2 AND term = $3",
                .text(lease.task.rawValue), .text(lease.holder), .integer(lease.term))
        ])
    }
}

extension TaskLease {
    /// How long a lease lasts without renewal. After a server was killed, others wait for this time.
    private static let duration = DeliveryLease.length

    /// Does work while this process has the lease of a task; `nil` if another process has it. The lease is renewed
    /// beside the work and released after it. Without a holder, it is the one that this process is for all its work on
    /// the task.
    ///
    /// The argument of the body returns `false` if the lease was lost; then the work must stop.
    package static func whileHolding<Result: Sendable>(
        _ task: SharedTask, in store: any LeaseStore, for holder: String? = nil,
        _ body: (@escaping @Sendable () async -> Bool) async throws(StorageError) -> Result
    ) async throws(StorageError) -> Result? {
        let holder = holder ?? "\(DeliveryLease.process)/\(task.rawValue)"
        guard let lease = try await store.claim(task, for: holder, lasting: duration) else { return nil }
        let renewal = LeaseRenewal(lease, in: store, lasting: duration)
        let renewing = Task { await renewal.run(every: DeliveryLease.renewalInterval) }
        defer { renewing.cancel() }
        let result: Result
        do throws(StorageError) {
            result = try await body { await renewal.isHeld() }
        } catch {
            try? await store.release(lease)
            throw error
        }
        try? await store.release(lease)
        return result
    }
}
