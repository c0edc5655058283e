import Base
package import BridgeConfiguration
package import ReceiptDecoding
package import Storage
import Synchronization

/// The keys that sign and verify bridge handles: those of the configuration, otherwise one that is made in the store
/// when it is first needed.
package final class HandleKeyring: Sendable {
    /// The keys, or what an erasure left, cannot be read now.
    package struct Unavailable: Error, Sendable, Hashable {}

    /// Size of a key that is made in the store, in bytes.
    private static let keySize = 32

    /// How far the clock of the server that issued a handle may be ahead.
    private static let clockDifference = Duration.minutes(5)

    private let configured: BridgeHandleKeys?
    /// The apps whose handles are accepted.
    private let scopes: [AppScope]
    private let store: (any Store)?
    /// The key of the store, once it was read.
    private let stored = Mutex<BridgeHandleKeys?>(nil)

    /// Creates the keyring of a configuration.
    ///
    /// - Parameter store: `nil` if nothing is stored. Without configured keys there are no handles then.
    package init(settings: ProxyConfiguration, store: (any Store)?) {
        configured = BridgeHandleKeys(
            settings.handleKeys.compactMap { BridgeHandleKeys.Key(Array($0.reveal().utf8)) })
        scopes = settings.apps.compactMap(\.bundleId).flatMap { bundleId in
            [.production, .sandbox].map { AppScope(bundleId: bundleId, environment: $0) }
        }
        self.store = store
    }

    /// Returns the keys; `nil` if none are configured and there is no store.
    ///
    /// - Parameter limit: maximum time of reading from the store, which happens once.
    package func keys(within limit: Duration) async throws(Unavailable) -> BridgeHandleKeys? {
        if let keys = configured ?? stored.withLock({ $0 }) { return keys }
        guard let store else { return nil }
        let candidate = Redacted((0..<Self.keySize).map { _ in UInt8.random(in: .min ... .max) })
        let key = try await Self.read(within: limit) { () throws(StorageError) in
            try await store.handles.handleKey(orInserting: candidate)
        }
        guard let keys = BridgeHandleKeys([BridgeHandleKeys.Key(key.reveal())].compactMap { $0 }) else {
            throw Unavailable()
        }
        stored.withLock { $0 = keys }
        return keys
    }

    /// Returns whether the customer of an authentic handle was erased after the handle was issued. If a handle claims
    /// to be from the future, it is unknown which of the two was first.
    ///
    /// - Parameter limit: maximum time of reading from the store.
    func isErased(
        _ handle: BridgeHandle, _ keys: BridgeHandleKeys, at now: Timestamp, within limit: Duration
    ) async throws(Unavailable) -> Bool {
        guard let store else { return false }
        let digests = keys.erasureDigests(of: handle.originalTransactionId, handle.bundleId, handle.environment)
        let erasedAt = try await Self.read(within: limit) { () throws(StorageError) in
            try await store.handles.lastErasure(leaving: digests)
        }
        guard let erasedAt else { return false }
        return handle.issuedAt <= erasedAt || handle.issuedAt > now.advanced(by: Self.clockDifference)
    }

    /// Returns what an erasure leaves, so that handles issued before are refused; `nil` if there are no handles.
    ///
    /// - Parameter limit: maximum time of reading from the store.
    package func erasureMarks(within limit: Duration) async throws(Unavailable) -> ErasureMarks? {
        try await keys(within: limit).map { keys in
            ErasureMarks(of: scopes) { keys.erasureDigests(of: $0, $1.bundleId, $1.environment) }
        }
    }

    /// Reads from the store. The limit is needed because a disk can block a read indefinitely.
    private static func read<Value: Sendable>(
        within limit: Duration, _ body: @escaping @Sendable () async throws(StorageError) -> Value
    ) async throws(Unavailable) -> Value {
        let work = Task { () -> Value? in try? await body() }
        guard let value = await TaskTimeout.value(of: work, within: limit) ?? nil else { throw Unavailable() }
        return value
    }
}
