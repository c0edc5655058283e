import PostgreSQLClient
package import Storage
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
    /// Caches of the row ids of apps and of forwarding targets, which never change.
    let (appIDs, targetIDs) = (RowIDCache<AppScope>(), RowIDCache<ForwardingTargetKey>())
    package let metrics = StoreMetrics()
    let state = Mutex(State())
    let opening = OpeningGate()
    /// The notifications to be stored, in batches.
    let batches: WriteBatches

    struct State {
        /// `true` once the tables are complete.
        var isReady = false
        var isClosed = false
        /// The reported error, until a later call succeeds.
        var failure: StorageError?
        /// Called if the database cannot be reached, and with `nil` once it can be again.
        var onChange: (@Sendable (StorageError?) -> Void)?
    }

    /// Creates a store that is not open: every read and write throws `notOpen` until ``open()``.
    init(
        unopened configuration: PostgreSQLConfiguration, place: String, hintsPerDay: Int, recordsEvents: Bool,
        allowsUnfinishedCopy: Bool = false
    ) {
        self.place = place
        self.allowsUnfinishedCopy = allowsUnfinishedCopy
        self.hintsPerDay = hintsPerDay
        self.recordsEvents = recordsEvents
        client = PostgreSQLClient(configuration)
        batches = WriteBatches(
            client: client, place: place, writer: writer,
            statement: RecordStatement(hasNotifications: true, hasEvents: recordsEvents))
    }

    /// Number of notifications that no transaction has taken yet.
    package var writesWaiting: Int { batches.waiting }

    /// Reads with several statements in one round trip. Each of them reads a snapshot of its own.
    func read(_ queries: [PostgreSQLQuery]) async throws(StorageError) -> [PostgreSQLResult] {
        try requireReady()
        do throws(StorageError) {
            let results = try await repeating { try await client.run(queries) }
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
        let result = try await client.query(PostgreSQLQuery("SELECT to_regclass('storeCopy') IS NULL"))
        guard try result.rows.first?.boolean(0) == true else { throw StorageError.unfinishedCopy(at: place) }
    }

    /// Time for statements about whole tables. An update of all deliveries can take minutes.
    private static let slowLimit = Duration.seconds(1_800)

    /// Runs statements about whole tables in one transaction. They are not repeated if the connection is lost.
    func runSlowly(_ queries: [PostgreSQLQuery]) async throws(StorageError) -> [PostgreSQLResult] {
        try requireReady()
        do throws(PostgreSQLError) {
            return try await client.run(queries, within: Self.slowLimit)
        } catch {
            throw storageError(error)
        }
    }

    /// Runs several statements in one transaction and one round trip. When this returns, all of it is on disk; if it
    /// throws, nothing of it is, unless the connection was lost during the commit.
    ///
    /// The statements are repeated if the connection was lost, so a second execution must not change more than the
    /// first.
    @discardableResult
    func write(_ queries: [PostgreSQLQuery]) async throws(StorageError) -> [PostgreSQLResult] {
        do throws(StorageError) {
            try requireReady()
            let results = try await repeating { try await client.run(queries) }
            metrics.writeSucceeded()
            return results
        } catch {
            if !Task.isCancelled { metrics.writeFailed(error) }
            throw error
        }
    }

    /// Runs a transaction whose later statements depend on the results of earlier ones. A statement that needs no
    /// result belongs into ``write(_:)``, which takes one round trip.
    ///
    /// - Parameter body: can run several times, after a deadlock or a lost connection. So a second execution must not
    ///   change more than the first.
    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTransaction) async throws -> Result
    ) async throws(StorageError) -> Result {
        do throws(StorageError) {
            let result = try await repeating {
                try requireReady()
                return try await client.transaction(body)
            }
            metrics.writeSucceeded()
            return result
        } catch {
            if !Task.isCancelled { metrics.writeFailed(error) }
            throw error
        }
    }

    /// Runs `body`, and once more if the connection was lost, so that the outcome is unknown. Reports whether the
    /// database can be used.
    private func repeating<Result: Sendable>(_ body: () async throws -> Result) async throws(StorageError) -> Result {
        do {
            let result: Result
            do {
                result = try await body()
            } catch let error as PostgreSQLError where error.code == .outcomeUnknown {
                result = try await body()
            }
            note(nil)
            return result
        } catch {
            let error = storageError(error)
            note(error)
            throw error
        }
    }

    /// - Throws: `notOpen` before the store was opened and after it was closed.
    func requireReady() throws(StorageError) {
        guard state.withLock({ $0.isReady && !$0.isClosed }) else {
            throw StorageError(.notOpen, at: place, "the store is not open")
        }
    }

    /// Returns the error of a read or write, with the place of this store.
    func storageError(_ error: any Error) -> StorageError { StorageError(error, at: place) }
}

/// A cache of row ids by the key of the row. Only for tables whose rows are never deleted.
final class RowIDCache<Key: Hashable & Sendable>: Sendable {
    private let ids = Mutex<[Key: Int64]>([:])

    subscript(key: Key) -> Int64? { ids.withLock { $0[key] } }

    func insert(_ id: Int64, for key: Key) { ids.withLock { $0[key] = id } }
}

extension PostgreSQLStore: Store {
    package var cluster: (any ClusterStore)? { self }
    package func compact() {}
}
