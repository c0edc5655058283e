import Synchronization
package import ReceiptBridgeBase

/// Counters of the store since it was opened.
package final class StoreMetrics: Sendable {
    package let writes = Counter()
    /// Number of failed reads and writes, by ``StorageError/Code``.
    package let errors = CounterTable(StorageError.Code.texts)

    package var lastDamage: StorageError? { damage.withLock(\.self) }

    private let damage = Mutex<StorageError?>(nil)
    private let lastWriteFailed = Atomic<Bool>(false)
    private let lastReadFailed = Atomic<Bool>(false)

    /// `true` if the last write or the last read failed.
    package var isFailing: Bool {
        lastWriteFailed.load(ordering: .relaxed) || lastReadFailed.load(ordering: .relaxed)
    }

    package func writeSucceeded() {
        writes.add()
        lastWriteFailed.store(false, ordering: .relaxed)
    }

    package func readSucceeded() { lastReadFailed.store(false, ordering: .relaxed) }

    package func writeFailed(_ error: StorageError) {
        lastWriteFailed.store(true, ordering: .relaxed)
        count(error)
    }

    package func readFailed(_ error: StorageError) {
        lastReadFailed.store(true, ordering: .relaxed)
        count(error)
    }

    /// Counts an error by its code, for example that of a row that is left out because a value of it is damaged.
    func count(_ error: StorageError) {
        if error.code == .damaged { damage.withLock { $0 = error } }
        errors.add(error.code)
    }
}

extension StorageError.Code: MetricLabel {}
