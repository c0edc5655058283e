import ReceiptBridgeBase
import Synchronization

/// Opening a store, with retries while the database cannot be reached.
extension PostgreSQLStore {
    /// Delays between two attempts. The last one is repeated.
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10)]
    private static let connectionTimeout: Duration = .seconds(2)

    /// Opens the store in the background and retries until it is open, after `pauses`, which are not empty. Until then
    /// every call throws `notOpen`.
    ///
    /// `onChange` is called with the first error, with each different error, and with `nil` once the database can be
    /// used after an error. Also if that happens while the store is open.
    package convenience init(
        opening configuration: PostgreSQLConfiguration, place: String, hintsPerDay: Int = 10_000,
        recordsEvents: Bool = true, pauses: [Duration]? = nil, _ onChange: @escaping @Sendable (StorageError?) -> Void
    ) {
        self.init(
            unopened: configuration, place: place, hintsPerDay: hintsPerDay, recordsEvents: recordsEvents,
            onChange: onChange)
        retryOpening(pauses ?? Self.pauses)
    }

    /// Opens the store, or creates its tables in an empty database. Throws `notOpen` if the database cannot be reached,
    /// `changed` for a store of an incompatible newer version, and for one that an unfinished copy is being written to,
    /// unless that is allowed.
    package convenience init(
        _ configuration: PostgreSQLConfiguration, place: String, hintsPerDay: Int = 10_000,
        recordsEvents: Bool = true, allowsUnfinishedCopy: Bool = false
    ) async throws(StorageError) {
        self.init(
            unopened: configuration, place: place, hintsPerDay: hintsPerDay, recordsEvents: recordsEvents,
            allowsUnfinishedCopy: allowsUnfinishedCopy)
        do throws(StorageError) {
            try await open()
        } catch {
            await close()
            throw error
        }
    }

    package var isOpen: Bool { client.isConnected && state.withLock(\.isReady) }

    /// Always `false`: the data cannot be replaced without ending the connections.
    package var isLost: Bool { false }

    package func whenOpen() async -> Bool { await opening.wait() }

    /// Waits for pending writes and closes the connections. Later calls throw. Committed data is in the database in
    /// any case.
    @discardableResult
    package func close() async -> StorageError? {
        await notificationWrites.finish()
        state.withLock { $0 = .closed }
        opening.end(false)
        await client.close()
        return nil
    }

    private func open() async throws(StorageError) {
        do {
            try await client.connected(within: Self.connectionTimeout)
            try await prepareSchema()
            try await checkCopyIsFinished()
        } catch {
            throw storageError(error)
        }
        let isOpen = state.withLock { state in
            guard case .opening(let failure) = state else { return false }
            state = .ready(failure)
            return true
        }
        if isOpen { opening.end(true) }
    }

    private func retryOpening(_ pauses: [Duration]) {
        Task { [weak self] in
            var attempt = 0
            while let store = self, !store.state.withLock(\.isClosed) {
                do throws(StorageError) {
                    try await store.open()
                    return store.note(nil)
                } catch {
                    store.note(error)
                }
                try? await Task.sleep(for: pauses[min(attempt, pauses.count - 1)])
                attempt += 1
            }
        }
    }

    /// Reports that the database cannot be used, or, with `nil`, that it can be used again. Each change is reported
    /// once.
    func note(_ error: StorageError?) {
        if let error, ![.notOpen, .notPermitted, .full, .changed, .missingTable].contains(error.code) { return }
        let isChange = state.withLock { state in
            switch state {
            case .opening(let failure) where failure != error: state = .opening(error)
            case .ready(let failure) where failure != error: state = .ready(error)
            case .opening, .ready, .closed: return false
            }
            return true
        }
        if isChange { onChange?(error) }
    }
}
