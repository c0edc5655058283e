package import ReceiptBridgeBase

/// Buckets of calls that several servers of one app share, so that together they stay within Apple's limits.
package protocol SharedCallBudget: Sendable {
    /// The number of servers that share the buckets, as last seen; at least 1.
    var servers: Int { get }

    /// Takes calls from a bucket, which is full again after an hour. Fewer than wanted may be granted, and the reserved
    /// ones are left in the bucket. Returns `nil` if the bucket cannot be reached.
    func take(
        _ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, callsPerHour: Int64,
        reserved: Int64
    ) async -> CallGrant?

    /// Gives back calls that were taken and not made.
    func giveBack(_ count: Int64, of endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment) async

    /// Blocks a bucket for all servers, because Apple returned 429 with `Retry-After`.
    func pause(_ endpoint: ServerAPIEndpoint, _ environment: AppStoreEnvironment, for pause: Duration) async
}
