import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Readiness of an app to switch")
struct ReadinessTests {
    @Test("Readiness is one sentence for each app")
    func sentences() throws {
        let sentences = [Readiness](try ReportSample.report()).map(\.sentence)
        #expect(
            sentences == [
                """
                Do not switch yet: com.example.app, Production. 12,340 of 12,345 receipts of 9,876 customers (99.96 %) \
                would get the same answer; 5 differ unexpectedly: cancellation 3, missingTransaction 2. 9,022 differences \
                are expected and count as the same; a client may notice them: wholeSeconds \
                8,410, innerOrder 612. 14 receipts (0.11 %) could not be compared: notFound 12, html 2.
                """,
                """
                For information: com.example.app, Sandbox. All 120 receipts of 120 customers would get the same answer; \
                with 95 % confidence fewer than 1 customer in 40 would get a different one. 31 differences are expected \
                and count as the same; a client may notice them: sandboxPurge 31. 40 receipts (25.00 %) could not be compared: notFound 40.
                """,
                """
                Switch: com.example.reader, Production. All 12,345 receipts of at least 10,000 customers would get the \
                same answer; with 95 % confidence fewer than 1 customer in 3,333 would get a different one. 9,083 \
                differences are expected and count as the same; a client may notice them: wholeSeconds 9,001, tokenCase 77, \
                finishedConsumables 5.
                """,
            ])
    }

    @Test(
        "Readiness requires enough customers, few failures and no unexpected difference",
        arguments: [
            (0, 0, 0, Readiness.ReadinessVerdict.notYet), (299, 299, 0, .notYet), (300, 300, 0, .safe),
            (300, 299, 0, .notSafe),
            (1, 0, 0, .notSafe), (9_900, 9_900, 100, .safe), (9_899, 9_899, 101, .notYet), (0, 0, 7, .notYet),
        ])
    func verdicts(compared: Int64, equal: Int64, failed: Int64, verdict: Readiness.ReadinessVerdict) {
        let app = ReportSample.app(
            ReportSample.safe, compared: compared, equal: equal, failures: failed > 0 ? ["notFound": failed] : [:])
        let readiness = Readiness(app, entries: [])
        #expect(readiness.verdict == verdict, "\(readiness.sentence)")
        #expect(readiness.sentence.contains("nan") == false && readiness.sentence.hasSuffix("."))
    }

    @Test(
        "The upper bound of the share that would differ has 95 % confidence",
        arguments: [
            (300, 300, 0.01), (12_345, 12_345, 0.000_243), (2, 2, 1), (10, 5, 0.763), (12_345, 12_340, 0.000_948),
        ])
    func bounds(compared: Int64, equal: Int64, bound: Double) throws {
        let app = ReportSample.app(ReportSample.safe, compared: compared, equal: equal)
        let upper = try #require(Readiness(app, entries: []).upperBound)
        #expect((upper - bound).magnitude < bound / 200, "\(upper)")
    }

    @Test("Differences that a configuration settles are the operator's decision, and the sentence names it")
    func settled() {
        let scope = ReportSample.safe
        let app = ReportSample.app(scope, compared: 400, equal: 396, customers: 400)
        func sentence(_ rules: [String: Int64]) -> String {
            let entries = rules.map {
                ComparisonReport.Entry(scope: scope, verdict: .unexpected, rule: $0, path: "status", count: $1)
            }
            return Readiness(app, entries: entries).sentence
        }
        #expect(
            sentence(["unfinishedConsumable": 4]) == """
                Decide about unfinishedConsumable: com.example.reader, Production. 396 of 400 receipts of 400 customers \
                (99.00 %) would get the same answer; 4 differ unexpectedly: unfinishedConsumable 4. comparisonRules: \
                {unfinishedConsumable: expected} settles unfinishedConsumable, if it does not matter to the app.
                """)
        let both = sentence(["unfinishedConsumable": 3, "missingTransaction": 1])
        #expect(both.hasPrefix("Do not switch yet: ") && both.contains("{unfinishedConsumable: expected}"))
    }

    @Test("The sentence states small counts, and the number of differences")
    func words() {
        let scope = ReportSample.safe
        func statement(
            _ compared: Int64, _ equal: Int64, _ counts: [String: Int64] = [:], in scope: ComparisonReport.Scope = scope
        ) -> String {
            let entries = counts.map {
                ComparisonReport.Entry(scope: scope, verdict: .unexpected, rule: $0, path: "status", count: $1)
            }
            return Readiness(ReportSample.app(scope, compared: compared, equal: equal), entries: entries).statement
        }
        #expect(
            statement(0, 0) == """
                Too early to tell: 0 of 300 customers were compared. No receipt was compared.
                """)
        #expect(
            statement(1, 1)
                == """
                Too early to tell: 1 of 300 customers were compared. The one receipt would get the same answer.
                """)
        var halves = ReportSample.app(scope, compared: 400, equal: 400)
        halves.partial = 400
        #expect(
            Readiness(halves, entries: []).statement == """
                Too early to tell: more than 1 % were compared in part only. All 400 receipts of 400 customers would get \
                the same answer, as far as it was recorded. 400 recordings have no history, or no statuses.
                """)
        #expect(Readiness(halves, entries: []).upperBound == nil)
        var records = ReportSample.app(scope, compared: 300, equal: 300)
        records.recordsOnly = 1
        #expect(
            Readiness(records, entries: []).statement.contains(
                "1 was compared by the records alone, because no answer could be made from them."))
        #expect(
            statement(2, 1, ["order": 3]) == """
                1 of 2 receipts of 2 customers (50.00 %) would get the same answer; 1 differs unexpectedly, in 3 places: order 3.
                """)
        let many = Dictionary(uniqueKeysWithValues: (1...8).map { ("rule\($0)", Int64($0)) })
        #expect(statement(100, 64, many).contains("rule8 8, rule7 7, rule6 6, rule5 5, rule4 4, and 3 more rules."))
    }

    @Test(
        "What only the records have is not in the sentence; the sentence names what a client may notice, and settings")
    func classes() throws {
        let scope = ReportSample.safe
        func entry(_ verdict: ComparisonRule.Class, _ rule: String, _ count: Int64) -> ComparisonReport.Entry {
            ComparisonReport.Entry(scope: scope, verdict: verdict, rule: rule, path: "status", count: count)
        }
        let app = ReportSample.app(scope, compared: 300, equal: 300)
        func statement(_ entries: ComparisonReport.Entry...) -> String { Readiness(app, entries: entries).statement }
        let same =
            "All 300 receipts of 300 customers would get the same answer; with 95 % confidence fewer than 1 customer "
            + "in 100 would get a different one."
        #expect(statement(entry(.records, "entitlement", 9), entry(.records, "billingPlan", 4)) == same)
        #expect(
            statement(entry(.expected, "recentPurchase", 1))
                == "\(same) 1 difference is expected and counts as the same.")
        #expect(
            statement(
                entry(.expected, "recentPurchase", 2), entry(.expected, "tokenCase", 3), entry(.records, "order", 1))
                == "\(same) 5 differences are expected and count as the same; a client may notice 3 of them: tokenCase 3."
        )
        var fixture = ComparisonFixture()
        fixture.latest.swapAt(1, 2)
        fixture.otherAnswer = fixture.answer
        fixture.latest.reverse()
        var order = entry(.unexpected, "order", 300)
        order.examples = try fixture.differences()
        let readiness = Readiness(ReportSample.app(scope, compared: 300, equal: 0), entries: [order])
        #expect(
            readiness.statement == """
                0 of 300 receipts of 300 customers (0 %) would get the same answer; 300 differ unexpectedly: order 300. \
                order disappears with latestReceiptInfoOrder: descending.
                """)
    }

    @Test("The sandbox informs and never holds back the switch", arguments: [(0, 0), (12, 12), (400, 400), (400, 1)])
    func sandbox(compared: Int64, equal: Int64) {
        let readiness = Readiness(ReportSample.app(ReportSample.early, compared: compared, equal: equal), entries: [])
        #expect(!readiness.decides && readiness.decision == "For information" && readiness.style == "informs")
        #expect(readiness.sentence.hasPrefix("For information: com.example.app, Sandbox. "), "\(readiness.sentence)")
        #expect(!readiness.sentence.contains("early") && !readiness.sentence.contains("witch"))
    }

    @Test("Customers are counted, because many receipts of one customer say nothing about others")
    func customers() {
        let one = Readiness(ReportSample.app(ReportSample.safe, compared: 330, equal: 330, customers: 1), entries: [])
        #expect(one.verdict == .notYet && one.upperBound == 1)
        #expect(
            one.sentence == """
                Do not switch yet: com.example.reader, Production. Too early to tell: 1 of 300 customers were compared. \
                All 330 receipts of 1 customer would get the same answer.
                """)
        let many = Readiness(
            ReportSample.app(ReportSample.safe, compared: 330, equal: 330, customers: 300), entries: [])
        #expect(many.verdict == .safe && many.upperBound == 0.01)
    }

    @Test("The sentence starts with the decision and the app; receipts without a bundle id come last")
    func unnamed() {
        var tally = ComparisonSummary()
        tally.addFailure("html", of: .init(bundleId: "", environment: ""))
        tally.add([], of: ReportSample.safe, customer: 1)
        let sentences = [Readiness](tally.report(.run, title: "t", madeAt: SharedSimulator.noon)).map(\.sentence)
        #expect(
            sentences == [
                """
                Do not switch yet: com.example.reader, Production. Too early to tell: 1 of 300 customers were compared. \
                The one receipt would get the same answer.
                """,
                """
                Do not switch yet: rows that name no app. Too early to tell: 0 of 300 customers were compared, and more \
                than 1 % could not be compared. No receipt was compared. 1 receipt (100 %) could not be compared: html 1.
                """,
            ])
    }

    @Test("A customer is counted once in a summary, in merged summaries, and after reloading the progress file")
    func tally() throws {
        var tally = ComparisonSummary()
        for index in 0..<330 { tally.add([], of: ReportSample.safe, customer: Int64(index % 2)) }
        var other = ComparisonSummary()
        other.add([], of: ReportSample.safe, customer: 1)
        other.add([], of: ReportSample.safe, customer: 2)
        tally.merge(other)
        tally = try JSONDecoder().decode(ComparisonSummary.self, from: JSONEncoder().encode(tally))
        let report = tally.report(.run, title: "t", madeAt: SharedSimulator.noon)
        #expect(report.apps.map(\.customers) == [3] && report.apps.map(\.compared) == [332])
        for index in 0..<20_000 { tally.add([], of: ReportSample.safe, customer: Int64(index)) }
        #expect(tally.report(.run, title: "t", madeAt: SharedSimulator.noon).apps.map(\.customers) == [10_000])
    }
}
