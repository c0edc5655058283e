import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Comparison rules")
struct RuleTests {
    @Test("The same purchases on both sides have no differences")
    func nothing() throws { #expect(try ComparisonFixture().differences() == []) }

    @Test("Every rule matches the difference planted for it, and there are no others")
    func planted() throws {
        for plant in PlantedDifference.all {
            var fixture = ComparisonFixture()
            plant.change(&fixture)
            let differences = try fixture.differences()
            #expect(Set(differences.map(\.rule)) == [plant.rule], "\(plant.rule): \(differences.map(\.fullPath))")
            #expect(differences.allSatisfy { $0.verdict == plant.verdict }, "\(plant.rule)")
            #expect(differences.allSatisfy { $0.isVisible }, "\(plant.rule)")
        }
        #expect(Set(PlantedDifference.all.map(\.rule)) == Set(ComparisonRules.all.map(\.name)))
    }

    @Test("A newest field is reported once per transaction, whether it is in in_app, latest_receipt_info or both")
    func newestFields() throws {
        var fixture = ComparisonFixture()
        fixture.history[0]["billingPlanType"] = "MONTHLY"
        let both = try fixture.differences()
        #expect(both.map(\.path) == ["latestTransactions[].billingPlanType"])
        #expect(both.first?.serverAPI == .text("MONTHLY") && both.first?.verifyReceipt == nil)
        #expect(both.allSatisfy { $0.isInformational })
        fixture.otherAnswer = fixture.answer
        #expect(try fixture.differences() == [])
    }

    @Test("An app's overrides have precedence over the table")
    func overrides() throws {
        var fixture = ComparisonFixture()
        fixture.otherAnswer = fixture.answer
        fixture.latest.reverse()
        fixture.context.overrides = ["order": .expected]
        #expect(try fixture.differences().map(\.verdict) == [.expected])
        fixture.context.overrides = ["order": .ignore]
        #expect(try fixture.differences() == [])
        var missing = ComparisonFixture()
        missing.latest.remove(at: 0)
        missing.context.overrides = ["missingTransaction": .expected]
        #expect(try missing.differences().map(\.verdict) == [.expected])
    }

    @Test("What differs by definition is not reported, unless an override makes it unexpected")
    func byDefinition() throws {
        var fixture = ComparisonFixture()
        fixture.otherAnswer = fixture.answer
        fixture.receipt["request_date_ms"] = "\(ComparisonFixture.now - 60_000)"
        fixture.top["latest_receipt"] = "REVG"
        for override in [nil, .expected, .ignore] as [RuleOverride?] {
            fixture.context.overrides = ["requestDate": override, "latestReceiptEcho": override].compactMapValues(
                \.self)
            #expect(try fixture.differences() == [])
        }
        let stored = ["requestDate", "innerOrder"].map {
            ComparisonReport.Entry(scope: ReportSample.safe, verdict: .expected, rule: $0, path: $0, count: 1)
        }
        #expect(ComparisonReport.Entry.listed(stored).map(\.rule) == ["innerOrder"], "of an earlier version")
    }

    @Test("A difference of two long texts shows where they begin to differ, and one of the order the row of each side")
    func visible() throws {
        var fixture = ComparisonFixture()
        let same = String(repeating: "MIIT", count: 5_000)
        fixture.top["unheard_of"] = same + "AAAA"
        fixture.otherAnswer = fixture.answer
        fixture.top["unheard_of"] = same + "BBBB"
        // The same dates, so no end is the newest one.
        fixture.latest.swapAt(0, 1)
        let differences = try fixture.differences()
        #expect(differences.map(\.path) == ["unheard_of", "latestTransactions"])
        #expect(differences.map { $0.verifyReceipt?.displayText } == ["…BBBB… (20004 bytes)", "101"])
        #expect(differences.map { $0.serverAPI?.displayText } == ["…AAAA… (20004 bytes)", "100"])
    }

    @Test("A difference is JSON with six keys")
    func json() throws {
        var fixture = ComparisonFixture()
        fixture.latest[1]["product_id"] = "\"<b>"
        let difference = try #require(try fixture.differences().first)
        #expect(
            String(decoding: difference.json, as: UTF8.self) == """
                {"receipt":"planted","path":"latestTransactions[101].productId","class":"unexpected",\
                "rule":"productId","verifyReceipt":"\\"<b>","serverAPI":"monthly"}
                """)
        fixture = ComparisonFixture()
        fixture.latest[1]["quantity"] = String(repeating: "x", count: 100_000)
        #expect(try fixture.differences().allSatisfy { $0.json.count < 400 })
    }

    @Test("Lists that another program wrote as objects are no difference, and are noticed")
    func rewritten() throws {
        var fixture = ComparisonFixture()
        let other = fixture.answer
        fixture.otherAnswer = other
        #expect(try !fixture.verifyReceipt().isRewritten)
        func indexed(_ rows: [ComparisonFixture.Object]) -> ComparisonFixture.Object {
            Dictionary(uniqueKeysWithValues: rows.enumerated().map { ("\($0 * 3)", $1) })
        }
        var answer = other
        answer["latest_receipt_info"] = indexed(fixture.latest)
        answer["pending_renewal_info"] = fixture.renewals[0]
        answer["receipt"] = [fixture.receipt.merging(["in_app": indexed(fixture.snapshot)]) { $1 }]
        let left = try ComparedAnswer(verifyReceipt: ComparisonFixture.bytes(answer))
        #expect(left.isRewritten)
        #expect(
            Comparison(verifyReceipt: left, serverAPI: try fixture.serverAPI(), context: fixture.context).differences
                == [])
        var tally = ComparisonSummary()
        tally.add([], of: ReportSample.safe, isRewritten: true)
        #expect(
            tally.report(.run, title: "t", madeAt: SharedSimulator.noon).notes == [
                "verifyReceipt responses with lists written as objects, or objects as lists: 1."
            ])
    }

    @Test("The order of a history is no difference, because no client gets it")
    func orderOfHistory() throws {
        var fixture = ComparisonFixture()
        fixture.latest.reverse()
        #expect(try fixture.differences() == [])
    }

    @Test(
        "Lists with another first or last row name the end that is newest on each side, and the setting",
        arguments: [true, false])
    func ends(isNewestFirst: Bool) throws {
        var fixture = ComparisonFixture()
        fixture.latest.swapAt(1, 2)
        if !isNewestFirst { fixture.latest.reverse() }
        fixture.otherAnswer = fixture.answer
        #expect(try fixture.differences() == [])
        fixture.latest.reverse()
        let difference = try #require(try fixture.differences().first)
        let (theirs, ours) = isNewestFirst ? ("newest first", "newest last") : ("newest last", "newest first")
        let setting = isNewestFirst ? "descending" : "ascending"
        #expect(
            String(decoding: difference.json, as: UTF8.self) == """
                {"receipt":"planted","path":"latestTransactions","class":"unexpected","rule":"order",\
                "verifyReceipt":"\(theirs)","serverAPI":"\(ours)","setting":"latestReceiptInfoOrder: \(setting)"}
                """)
    }

    @Test("A row that only one side has is no difference of order, wherever it is")
    func additionalRow() throws {
        var fixture = ComparisonFixture()
        fixture.otherAnswer = fixture.answer
        let more = ComparisonFixture.purchase(
            "400", of: "extra", "Non-Consumable", at: ComparisonFixture.ago(50))
        fixture.latest = [more.wire] + fixture.latest
        #expect(try fixture.differences().map(\.rule) == ["missingTransaction"])
    }

    @Test("A client cannot notice what is equal when it is requested again, or only in the records")
    func noticeable() {
        for rule in ComparisonRules.all {
            #expect(ComparisonRules.named[rule.name]?.isNoticeable == rule.isNoticeable, "\(rule.name)")
            guard rule.verdict == .expected else { continue }
            let isHidden = rule.isVolatile || rule.conditions.contains(.againstRecords) || rule.name == "requestDate"
            #expect(rule.isNoticeable == !isHidden, "\(rule.name)")
        }
    }

    @Test("A million equal differences need the memory of three; a million paths that of a thousand")
    func tally() throws {
        var fixture = ComparisonFixture()
        fixture.status = 2
        let differences = try fixture.differences()
        let scope = ComparisonReport.Scope(bundleId: "com.example.app", environment: "Production")
        var tally = ComparisonSummary()
        for _ in 0..<10_000 { tally.add(differences, of: scope) }
        #expect(tally.entries.count == 1 && tally.count(.unexpected) == 10_000)
        #expect(tally.entries.values.first?.examples.count == ComparisonSummary.maximumExamples)
        for index in 0..<3 {
            var fixture = ComparisonFixture()
            for key in 0..<1_000 { fixture.latest[1]["key\(index)_\(key)"] = key }
            tally.add(try fixture.differences(), of: scope)
        }
        #expect(tally.count(.unexpected) == 13_000 && tally.overflow > 0)
        #expect(tally.entries.count <= ComparisonSummary.maximumEntries + 1)
        #expect(tally.compared == 10_003 && tally.equal == 0)
    }

    @Test("A single changed value in a single row is always reported")
    func property() throws {
        var generator = SeededGenerator("property")
        for _ in 0..<600 {
            var fixture = ComparisonFixture()
            let isSnapshot = Bool.random(using: &generator)
            let index = isSnapshot ? 0 : Int.random(in: 0..<3, using: &generator)
            let row = isSnapshot ? fixture.snapshot[0] : fixture.latest[index]
            let key = try #require(row.keys.sorted().randomElement(using: &generator))
            let value = try #require(row[key] as? String)
            let changed: String? =
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: nil
                case 1: value + "7"
                case 2: value == "false" ? "true" : "1" + value
                default: Int64(value).map { "\($0 + 1)" } ?? "?"
                }
            if isSnapshot { fixture.snapshot[0][key] = changed } else { fixture.latest[index][key] = changed }
            let differences = try fixture.differences()
            #expect(
                !differences.isEmpty && differences.allSatisfy { $0.isVisible },
                "\(key): \(value) became \(changed ?? "nothing")")
        }
    }
}

extension Difference {
    /// `false` if a reader sees the same value twice.
    fileprivate var isVisible: Bool { verifyReceipt?.displayText != serverAPI?.displayText }
}

@Suite("Listing of comparison rules")
struct RuleListingTests {
    @Test("docs/comparison-rules.csv contains the current rules; RECORD_GOLDENS=1 updates it and fails once")
    func listing() throws {
        #expect(
            try RecordedDocument.has(RuleListing.csv(ComparisonRules.all), in: "docs/comparison-rules.csv"),
            "\(RecordedDocument.hint)")
    }

    @Test("An override of an unknown rule is detected")
    func unknownOverrides() {
        #expect(ComparisonRules.unknown(in: ["order": .ignore, "ordre": .ignore]) == ["ordre"])
    }
}
