/// Work of a caller for the event loop.
struct PostgreSQLJob: Sendable {
    typealias Outcome = Result<[PostgreSQLResult], PostgreSQLError>

    enum Place: Sendable, Hashable {
        /// Any connection, shared with other jobs.
        case shared
        /// A connection that is reserved for a transaction from this job, whatever its outcome, to its last one.
        case firstOf(transaction: UInt64)
        case partOf(transaction: UInt64)
        /// The job with the COMMIT. If it fails, the connection stays reserved for the ROLLBACK.
        case commitOf(transaction: UInt64)
        case lastOf(transaction: UInt64)
    }

    /// One implicit transaction, or a part of an explicit one.
    let statements: [PostgreSQLStatement]
    let place: Place
    /// The results of this many first statements are not returned.
    let skippedResults: Int
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Outcome, Never>

    func end(_ outcome: Outcome) {
        continuation.resume(returning: outcome.map { Array($0.dropFirst(skippedResults)) })
    }
}
