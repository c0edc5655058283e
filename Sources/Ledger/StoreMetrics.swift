import Synchronization
package import Telemetry

/// What the store did since it was opened.
package final class StoreMetrics: Sendable {
    /// Changes that are on disk.
    package let writes = Counter()
    /// What failed, reading and writing, by ``StorageError/Code``.
    package let errors = CounterTable("code", StorageError.Code.allCases.map(\.rawValue))

    private let lastWriteFailed = Atomic<Bool>(false)
    private let lastReadFailed = Atomic<Bool>(false)

    /// Whether the last change, or the last reading, failed.
    package var isFailing: Bool {
        lastWriteFailed.load(ordering: .relaxed) || lastReadFailed.load(ordering: .relaxed)
    }

    func wrote() {
        writes.add()
        lastWriteFailed.store(false, ordering: .relaxed)
    }

    func wasRead() { lastReadFailed.store(false, ordering: .relaxed) }

    func writeFailed(_ error: StorageError) {
        lastWriteFailed.store(true, ordering: .relaxed)
        count(error)
    }

    func readFailed(_ error: StorageError) {
        lastReadFailed.store(true, ordering: .relaxed)
        count(error)
    }

    private func count(_ error: StorageError) {
        if let place = StorageError.Code.allCases.firstIndex(of: error.code) { errors.add(place) }
    }
}
