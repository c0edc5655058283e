package import Telemetry

/// What the store did since it was opened.
package final class StoreCounts: Sendable {
    /// Changes that are on disk.
    package let writes = Counter()
    /// What failed, reading and writing, by ``LedgerError/Code``.
    package let errors = CounterTable("code", LedgerError.Code.allCases.map(\.rawValue))

    func failed(_ error: LedgerError) {
        if let place = LedgerError.Code.allCases.firstIndex(of: error.code) { errors.add(place) }
    }
}
