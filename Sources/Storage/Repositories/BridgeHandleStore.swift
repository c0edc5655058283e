package import AppStoreTypes

/// What bridge handles need to be kept across restarts: the key that signs them if none is configured, and which
/// customers were erased. ``PersonalDataStore/erase(_:at:)`` writes the latter.
package protocol BridgeHandleStore: Sendable {
    /// Returns the key of this store. If it has none, the candidate becomes its key. Every process with the same store
    /// gets the same key, also if several ask at the same time.
    func handleKey(orInserting candidate: Redacted<[UInt8]>) async throws(StorageError) -> Redacted<[UInt8]>

    /// Returns the time of the last erasure that left one of these digests; `nil` if there was none.
    ///
    /// - Parameter digests: see ``ErasureMarks``.
    func lastErasure(leaving digests: [[UInt8]]) async throws(StorageError) -> Timestamp?
}

/// Computes what an erasure leaves of an erased id: keyed digests, from which the id cannot be found without the key.
/// There is one for each key, so that a key can be replaced.
package struct ErasureMarks: Sendable {
    package let digests: @Sendable (_ id: TransactionIdentifier, _ scope: AppScope) -> [[UInt8]]

    package init(_ digests: @escaping @Sendable (TransactionIdentifier, AppScope) -> [[UInt8]]) {
        self.digests = digests
    }
}
