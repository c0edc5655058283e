import ReceiptBridgeBase
import Synchronization

/// The store of the proxy in a PostgreSQL database, which several servers can use at the same time. Implements every
/// repository.
///
/// Every transaction is READ COMMITTED, in which each statement reads a snapshot of its own. So a write that depends
/// on stored rows locks in one statement and decides in a later one, and every transaction locks in this order:
///
/// 1. The slots of the identifiers that it writes about (``LockSlot``), in ascending order.
/// 2. The customers that it changes, in ascending order of their ids.
/// 3. Other rows.
package final class PostgreSQLStore: Sendable {
    /// Hosts and database, without a password. For messages.
    package let place: String
    package let hintsPerDay: Int
    private let allowsUnfinishedCopy: Bool
    package let recordsEvents: Bool
    let client: PostgreSQLClient
    /// Identifies the changes by this store object in the change feed, which a server does not need to read.
    let writer = Int64.random(in: 1 ... .max)
    package let headers = JWSHeaderTable()
    package let appIDs = RowIDCache<AppScope>()
    package let metrics = StoreMetrics()
    let state = Mutex(State.opening(nil))
    let onChange: (@Sendable (StorageError?) -> Void)?
    let opening = Latch<Bool>()
    private let statementTimeout: Duration
    /// When the database last did what a call asked for.
    private let lastAnswer = Mutex<ContinuousClock.Instant?>(nil)
    package let notificationWrites: GroupCommit<NotificationWrite, NotificationOutcome>

    /// With the reported error, until a later call succeeds.
    enum State {
        case opening(StorageError?)
        /// The tables are complete.
        case ready(StorageError?)
        case closed

        var isReady: Bool { if case .ready = self { true } else { false } }
        var isClosed: Bool { if case .closed = self { true } else { false } }
    }

    /// The store is not open: every read and write throws `notOpen` until ``open()``.
    init(
        unopened configuration: PostgreSQLConfiguration, place: String, hintsPerDay: Int, recordsEvents: Bool,
        allowsUnfinishedCopy: Bool = false, onChange: (@Sendable (StorageError?) -> Void)? = nil
    ) {
        (self.place, self.onChange, self.allowsUnfinishedCopy) = (place, onChange, allowsUnfinishedCopy)
        (self.hintsPerDay, self.recordsEvents) = (hintsPerDay, recordsEvents)
        statementTimeout = configuration.statementTimeout
        client = PostgreSQLClient(configuration)
        notificationWrites = GroupCommit(place: place, batch: 64, errorsOfWrites: [.failed, .locked])
    }

    /// Number of notifications that no transaction has taken yet.
    package var writesWaiting: Int { notificationWrites.waiting }

    /// Reads with several statements in one round trip. Each of them reads a snapshot of its own.
    func results(reading statements: [SQLStatement]) async throws(StorageError) -> [PostgreSQLResult] {
        try requireReady()
        do throws(StorageError) {
            let results = try await repeating { _ in try await client.run(statements) }
            metrics.readSucceeded()
            return results
        } catch {
            // A canceled reader does not indicate a failure of the store.
            if !Task.isCancelled { metrics.readFailed(error) }
            throw error
        }
    }

    /// - Throws: `changed` if an unfinished copy is being written to the store, unless that is allowed.
    func checkCopyIsFinished() async throws {
        guard !allowsUnfinishedCopy else { return }
        let result = try await client.query(SQLStatement("SELECT to_regclass('storeCopy') IS NULL"))
        guard try result.rows.first?.boolean(0) == true else { throw StorageError.unfinishedCopy(at: place) }
    }

    /// Time for statements about whole tables. An update of all deliveries can take minutes.
    private static let slowLimit = Duration.seconds(1_800)

    /// Runs statements about whole tables in one transaction. They are not repeated if the connection is lost.
    func runSlowly(_ statements: [SQLStatement]) async throws(StorageError) -> [PostgreSQLResult] {
        try requireReady()
        do throws(PostgreSQLError) {
            return try await client.run(statements, within: Self.slowLimit)
        } catch {
            throw storageError(error)
        }
    }

    /// Runs several statements in one transaction and one round trip. When this returns, all of it is on disk; if it
    /// throws, nothing of it is, unless the connection was lost during the commit.
    ///
    /// The statements are repeated if the connection was lost, so a second execution must not change more than the
    /// first.
    func results(writing statements: [SQLStatement]) async throws(StorageError) -> [PostgreSQLResult] {
        do throws(StorageError) {
            try requireReady()
            let results = try await repeating { _ in try await client.run(statements) }
            metrics.writeSucceeded()
            return results
        } catch {
            if !Task.isCancelled { metrics.writeFailed(error) }
            throw error
        }
    }

    /// Runs a transaction whose later statements depend on the results of earlier ones. A statement that needs no
    /// result belongs into ``results(writing:)``, which takes one round trip.
    ///
    /// - Parameter body: can run several times, after a deadlock or a lost connection. So a second execution must not
    ///   change more than the first. Also gets whether an earlier one may have been committed.
    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTransaction, _ isRepetition: Bool) async throws -> Result
    ) async throws(StorageError) -> Result {
        try await repeating { isRepetition in
            try requireReady()
            return try await client.transaction { try await body($0, isRepetition) }
        }
    }

    /// Runs `body`, and once more if the connection was lost, so that the outcome is unknown. Reports whether the
    /// database can be used.
    private func repeating<Result: Sendable>(
        _ body: (_ isRepetition: Bool) async throws -> Result
    ) async throws(StorageError) -> Result {
        do {
            let result: Result
            do {
                result = try await body(false)
            } catch let error as PostgreSQLError where error.code == .outcomeUnknown {
                result = try await body(true)
            }
            lastAnswer.withLock { $0 = .now }
            note(nil)
            return result
        } catch {
            let storageError = storageError(error)
            if !isSlow(error) { note(storageError) }
            throw storageError
        }
    }

    /// Whether a call only ran out of time, while others are answered: the database is slow, or all connections are
    /// in use, but it can be reached.
    private func isSlow(_ error: any Error) -> Bool {
        guard let error = error as? PostgreSQLError, [.timedOut, .outcomeUnknown].contains(error.code) else {
            return false
        }
        return lastAnswer.withLock { $0.map { .now < $0 + statementTimeout } ?? false }
    }

    /// - Throws: `notOpen` before the store was opened and after it was closed.
    func requireReady() throws(StorageError) {
        guard state.withLock(\.isReady) else { throw StorageError(.notOpen, at: place, "the store is not open") }
    }

    func storageError(_ error: any Error) -> StorageError { StorageError(postgreSQL: error, at: place) }
}

extension PostgreSQLStore: Store {
    package var cluster: (any ClusterStore)? { self }
    package func compact() {}
}
