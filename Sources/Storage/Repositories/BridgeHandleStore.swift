package import Base

/// What bridge handles need to be kept across restarts: the key that signs them if none is configured, and which
/// customers were erased. ``PersonalDataStore/erase(_:at:)`` writes the latter.
package protocol BridgeHandleStore: SQLEngine {}

/// Computes what an erasure leaves of an erased id: keyed digests, from which the id cannot be found without the key.
/// There is one for each key, so that a key can be replaced.
package struct ErasureMarks: Sendable {
    package let digests: @Sendable (_ id: TransactionIdentifier, _ scope: AppScope) -> [[UInt8]]
    /// The apps whose handles are accepted. A handle can exist for a customer without stored data.
    private let scopes: [AppScope]

    package init(
        of scopes: [AppScope] = [], _ digests: @escaping @Sendable (TransactionIdentifier, AppScope) -> [[UInt8]]
    ) {
        self.scopes = scopes
        self.digests = digests
    }

    /// Returns the id of the customer to erase and the apps to mark it in, whether they are stored or not; `nil` for an
    /// account token, which no handle contains.
    func unconditional(for request: ErasureRequest) -> (id: String, scopes: [AppScope])? {
        guard case .transaction(let id) = request.subject else { return nil }
        let matching = scopes.filter { scope in
            request.bundleId ?? scope.bundleId == scope.bundleId
                && request.environment ?? scope.environment == scope.environment
        }
        return (id.rawValue, matching)
    }
}

extension BridgeHandleStore {
    /// Returns the key of this store. If it has none, the candidate becomes its key. Every process with the same store
    /// gets the same key, also if several ask at the same time.
    package func handleKey(orInserting candidate: Redacted<[UInt8]>) async throws(StorageError) -> Redacted<[UInt8]> {
        let find = SQLStatement("SELECT key FROM handleKey")
        let existing = try await read(find) { (row) throws(StorageError) in Redacted(try row.bytes(0)) }
        if let key = existing.first { return key }
        let insert = SQLStatement(
            "INSERT INTO handleKey VALUES (1, $1) ON CONFLICT (id) DO NOTHING", .bytes(candidate.reveal()))
        return try await write([insert, find]) { (row) throws(StorageError) in Redacted(try row.bytes(0)) }.first
            ?? candidate
    }

    /// Returns the time of the last erasure that left one of these digests; `nil` if there was none.
    ///
    /// - Parameter digests: see ``ErasureMarks``.
    package func lastErasure(leaving digests: [[UInt8]]) async throws(StorageError) -> Timestamp? {
        guard !digests.isEmpty else { return nil }
        let list = digests.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        return try await read(
            SQLStatement(
                "SELECT max(erasedAt) FROM erasedIdentifier WHERE digest IN (\(list))", digests.map { .bytes($0) })
        ) { (row) throws(StorageError) in try row.optionalTimestamp(0) }.first
    }
}
