package import ReceiptBridgeBase

extension DeliveryOutbox {
    /// Records the outcome of an attempt and ends the lease. The outcome is ignored if the delivery was queued again
    /// during the attempt, or if the lease ran out and another worker has claimed the delivery. A success counts even
    /// if that worker's attempt has failed since.
    package func settle(
        _ delivery: StoredDelivery, _ outcome: DeliveryOutcome, at now: Timestamp
    ) async throws(StorageError) {
        let state: DeliveryState
        var (code, pause): (String?, Duration?) = (nil, nil)
        var (attempts, bodies) = (delivery.attempts, delivery.bodiesSent)
        switch outcome {
        case .delivered(let count): (state, bodies, attempts) = (.delivered, count, attempts + 1)
        case .skipped: state = .skipped
        case .failed(let reason, let count, let duration):
            (state, code, bodies, pause, attempts) = (.waiting, reason, count, duration, attempts + 1)
        case .abandoned(let reason, let count):
            (state, code, bodies, attempts) = (.abandoned, reason, count, attempts + 1)
        }
        let settle = SQLStatement(
            """
            UPDATE delivery SET state = $1, attempts = $2, bodiesSent = $3, lastFailure = $4,
                nextAttempt = coalesce(\(dialect.now("$10")) + $5, nextAttempt),
                leasedUntil = \(dialect.noLease), lessee = NULL
            WHERE id = $6 AND state = 0 AND queuedAt = $7 AND (lessee = $9 OR (lessee IS NULL AND NOT $8))
            """,
            .integer(state.rawValue), .integer(Int64(attempts)), .integer(Int64(bodies)), code.map(SQLValue.text),
            pause.map { .integer($0.inMilliseconds) }, .integer(delivery.id), SQLValue(delivery.queuedAt),
            .boolean(state == .waiting || state == .abandoned), .text(delivery.lessee), SQLValue(now))
        // An outcome that is ignored ends the lease all the same.
        try await write([settle, release(delivery)])
    }

    /// Ends the leases of deliveries that were not attempted or whose attempt was interrupted. They stay due.
    package func release(_ deliveries: [StoredDelivery]) async throws(StorageError) {
        guard !deliveries.isEmpty else { return }
        // In ascending order, so that two servers do not wait for each other.
        try await write(deliveries.sorted { $0.id < $1.id }.map(release))
    }

    /// Ends the lease of a delivery, unless another worker has claimed it since.
    private func release(_ delivery: StoredDelivery) -> SQLStatement {
        SQLStatement(
            "UPDATE delivery SET leasedUntil = \(dialect.noLease), lessee = NULL WHERE id = $1 AND lessee = $2",
            .integer(delivery.id), .text(delivery.lessee))
    }
}
