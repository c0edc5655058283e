package import AppStoreTypes

/// The rollouts of apps: which customers were compared, and which rollouts have stopped themselves.
package protocol RolloutStore: Sendable {
    /// Returns a rollout. One that is not stored yet starts now.
    func rollout(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout

    /// Adds customers that were compared. A customer is stored once, and stays different once it was. Adding the same
    /// customers again changes nothing but the time of their comparison.
    ///
    /// - Parameters:
    ///   - limit: maximum number of customers of the rollout. Those that were compared longest ago are deleted.
    ///   - now: the time of the comparison, which decides only about that order.
    /// - Returns: the rollout with these customers.
    func add(
        _ customers: [RolloutCustomer], to key: RolloutKey, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> StoredRollout

    /// Stops a rollout for good. A rollout that has stopped already keeps the time.
    func stop(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout
}
