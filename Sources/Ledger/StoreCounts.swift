import Synchronization
package import Telemetry

/// What the store did since it was opened.
package final class StoreCounts: Sendable {
    /// Changes that are on disk.
    package let writes = Counter()
    /// What failed, reading and writing, by ``LedgerError/Code``.
    package let errors = CounterTable("code", LedgerError.Code.allCases.map(\.rawValue))

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

    func writeFailed(_ error: LedgerError) {
        lastWriteFailed.store(true, ordering: .relaxed)
        count(error)
    }

    func readFailed(_ error: LedgerError) {
        lastReadFailed.store(true, ordering: .relaxed)
        count(error)
    }

    private func count(_ error: LedgerError) {
        if let place = LedgerError.Code.allCases.firstIndex(of: error.code) { errors.add(place) }
    }
}
