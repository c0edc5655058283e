package import ReceiptBridgeBase

/// What the servers of one store tell each other. Times are those of the store's clock. Every method is one short
/// transaction.
package protocol ClusterStore: Sendable {
    /// Returns what other servers have stored since a position, or from the oldest change on. The store adds a change
    /// to the feed in the transaction that stores the data.
    func changes(since position: ChangePosition?) async throws(StorageError) -> ChangePage

    /// Deletes changes that every server has had time to read.
    func expireChanges() async throws(StorageError)

    /// Returns whether the caller is the first to look up an identifier within an interval, so that only one of the
    /// servers does.
    func claimLookup(
        of identifier: TransactionIdentifier, in scope: AppScope, every interval: Duration
    ) async throws(StorageError) -> Bool

    /// Takes calls from a shared bucket, which is full if it was never used.
    func takeCalls(_ request: CallRequest) async throws(StorageError) -> CallGrant

    /// Gives back calls that were taken and not made.
    func returnCalls(_ count: Int64, to bucket: CallBucketKey) async throws(StorageError)

    /// Blocks all calls of a bucket for a time, because Apple returned 429 with `Retry-After`.
    func pauseCalls(of bucket: CallBucketKey, for pause: Duration) async throws(StorageError)

    /// Records that a server runs, by a name that is unique to the running server. Returns the number of servers that
    /// were seen within the interval, at least 1.
    func checkIn(_ server: String, countingWithin interval: Duration) async throws(StorageError) -> Int

    func checkOut(_ server: String) async throws(StorageError)

    /// Adds a gap in the notifications of a server, for the server that fetches the notifications.
    func add(_ gap: NotificationGap) async throws(StorageError)

    /// Returns the oldest gaps of all servers that were not removed.
    func notificationGaps() async throws(StorageError) -> StoredGaps

    /// Removes gaps whose notifications were fetched.
    func remove(_ gaps: StoredGaps) async throws(StorageError)
}
