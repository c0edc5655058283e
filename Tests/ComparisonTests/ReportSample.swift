import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeTestSupport

/// A report of planted differences in three apps: one can switch, one cannot, and for one it is too early to tell.
enum ReportSample {
    static let safe = ComparisonReport.Scope(bundleId: "com.example.reader", environment: "Production")
    static let unsafe = ComparisonReport.Scope(bundleId: "com.example.app", environment: "Production")
    static let early = ComparisonReport.Scope(bundleId: "com.example.app", environment: "Sandbox")

    static func report() throws -> ComparisonReport {
        var report = ComparisonReport(kind: .run, title: "receipts.jsonl", madeAt: SharedSimulator.noon)
        report.apps = [
            app(unsafe, compared: 12_345, equal: 12_340, customers: 9_876, failures: ["notFound": 12, "html": 2]),
            app(early, compared: 120, equal: 120, failures: ["notFound": 40]),
            app(safe, compared: 12_345, equal: 12_345, customers: 10_000),
        ]
        report.entries =
            try entries(
                unsafe, of: ["cancellation": 3, "missingTransaction": 2, "wholeSeconds": 8_410, "innerOrder": 612])
            + entries(early, of: ["sandboxPurge": 31])
            + entries(safe, of: ["wholeSeconds": 9_001, "tokenCase": 77, "finishedConsumables": 5])
        report.entries.sort { ($0.verdict.rawValue, $0.count) > ($1.verdict.rawValue, $1.count) }
        report.pairs = try ["cancellation", "missingTransaction", "sandboxPurge"].map(pair)
        report.historyVersions = [2: 120, 1: 3]
        report.unverified = 4
        report.notes = ["Two comparisons were dropped while the queue was full."]
        return report
    }

    /// - Parameter customers: `nil` for one customer for each receipt.
    static func app(
        _ scope: ComparisonReport.Scope, compared: Int64, equal: Int64, customers: Int64? = nil,
        failures: [String: Int64] = [:]
    ) -> ComparisonReport.App {
        var app = ComparisonReport.App(scope: scope)
        (app.compared, app.equal, app.failures) = (compared, equal, failures)
        app.customers = customers ?? compared
        return app
    }

    static func fixture(of rule: String) -> ComparisonFixture {
        var fixture = ComparisonFixture()
        PlantedDifference.all.first { $0.rule == rule }?.change(&fixture)
        fixture.context.receipt = "sha256:\(rule)"
        return fixture
    }

    static func pair(of rule: String) throws -> AlignedPair { try fixture(of: rule).pair() }

    private static func entries(
        _ scope: ComparisonReport.Scope, of counts: [String: Int64]
    ) throws -> [ComparisonReport.Entry] {
        try counts.sorted { $0.key < $1.key }.compactMap { rule, count in
            guard let example = try fixture(of: rule).differences().first else { return nil }
            return ComparisonReport.Entry(
                scope: scope, verdict: example.verdict, rule: rule, path: example.path, count: count,
                firstSeen: SharedSimulator.noon.advanced(by: .milliseconds(-ComparisonFixture.day)),
                lastSeen: SharedSimulator.noon,
                examples: [example])
        }
    }
}

extension ComparisonFixture {
    func pair(maximumRows: Int = AlignedPair.maximumRows) throws -> AlignedPair {
        AlignedPair(
            verifyReceipt: try verifyReceipt(), serverAPI: try serverAPI(), differences: try differences(),
            receipt: context.receipt, maximumRows: maximumRows)
    }
}
