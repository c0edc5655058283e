import ReceiptBridgeBase
import ReceiptBridgeComparison
import Logging
import ReceiptBridgeStorage
import Synchronization

/// The results of shadow comparisons. They are written to the store once a second; the report reads them from there.
final class ShadowFindings: Sendable {
    private let store: (any Store)?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    /// The results since the last write to the store.
    private let recent = Mutex(ComparisonSummary())
    private let samples = Mutex(PairSamples())
    /// The results that are not in the store: all since the start if there is no store, otherwise those whose write
    /// failed.
    private let unstored = Mutex(ComparisonSummary())

    /// The number of receipts that the page shows side by side. They are in memory only.
    private static let maximumPairs = 40

    init(store: (any Store)?, logger: Logger, now: @escaping @Sendable () -> Timestamp) {
        (self.store, self.logger, self.now) = (store, logger, now)
    }

    func change(_ change: (inout ComparisonSummary) -> Void) { recent.withLock { change(&$0) } }

    /// Keeps the documents of a comparison if they show a new kind of difference.
    func offer(_ outcome: ShadowOutcome) {
        samples.withLock {
            $0.offer(
                verifyReceipt: outcome.verifyReceipt, serverAPI: outcome.serverAPI, differences: outcome.differences,
                receipt: outcome.receipt, limit: Self.maximumPairs)
        }
    }

    /// Removes the receipts that the page shows side by side.
    func removePairs() { samples.withLock { $0 = PairSamples() } }

    /// Writes the results to the store once a second.
    func writePeriodically() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { await flush() }
    }

    /// Writes the results to the store. If that fails they stay in memory, where the report still finds them.
    func flush() async {
        let (results, time) = (
            recent.withLock { recent in
                defer { recent = ComparisonSummary() }
                return recent
            }, now()
        )
        guard !results.isEmpty else { return }
        guard let store else { return unstored.withLock { $0.merge(results) } }
        let rows = results.rows(on: time.day)
        do throws(StorageError) {
            try await store.comparisons.add(
                comparisons: rows.comparisons, differences: rows.differences, customers: rows.customers,
                limit: CustomerSet.maximum)
        } catch {
            logger.error(
                "cannot write comparison results to the store; keeping them in memory", metadata: ["reason": "\(error)"]
            )
            unstored.withLock { $0.merge(results) }
        }
    }

    /// Returns a report of the differences found in the last days.
    func report(days: Int64) async throws(StorageError) -> ComparisonReport {
        await flush()
        let time = now()
        var comparisons: [ComparisonCount] = []
        var differences: [DifferenceCount] = []
        let unstored = unstored.withLock { $0 }
        let unstoredRows = unstored.rows(on: time.day)
        var customers = unstored.customerCounts
        if let store {
            (comparisons, differences) = try await store.comparisons.comparisons(since: time.day - days + 1)
            for row in try await store.comparisons.comparedCustomers(since: time.day - days + 1) {
                let scope = ComparisonReport.Scope(bundleId: row.bundleId, environment: row.environment)
                // The stored and the unstored customers may be the same ones, so they are not added up.
                customers[scope] = max(customers[scope] ?? 0, row.count)
            }
        }
        var report = ComparisonReport(
            comparisons: comparisons + unstoredRows.comparisons, differences: differences + unstoredRows.differences,
            customers: customers, title: "the last \(days) days", madeAt: time)
        report.pairs = samples.withLock { $0.pairs }
        return report
    }
}
