import ReceiptBridgeBase
import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Comparison report files")
struct ReportFormatTests {
    private func object(_ report: ComparisonReport) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(report.json)) as? [String: Any])
    }

    @Test("JSON has the documented keys")
    func json() throws {
        let report = try object(try ReportSample.report())
        #expect(
            Set(report.keys)
                == [
                    "kind", "title", "madeAt", "apps", "rules", "differences", "historyVersions", "unverified", "notes",
                ])
        #expect(report["kind"] as? String == "run" && report["unverified"] as? Int == 4)
        #expect(report["madeAt"] as? Int64 == SharedSimulator.noon.milliseconds)
        #expect(report["historyVersions"] as? [String: Int] == ["1": 3, "2": 120])
        let app = try #require((report["apps"] as? [[String: Any]])?.first)
        #expect(
            Set(app.keys) == [
                "bundleId", "environment", "compared", "equal", "customers", "partial", "recordsOnly", "share",
                "noticeable", "upperBound", "verdict", "decides", "sentence", "failures",
            ])
        #expect(app["verdict"] as? String == "notSafe" && app["share"] as? Double == 0.999_595)
        #expect(app["failures"] as? [String: Int] == ["html": 2, "notFound": 12])
        let rules = try #require(report["rules"] as? [[String: Any]])
        #expect(
            rules.map { "\($0["class"] ?? "") \($0["rule"] ?? "") \($0["count"] ?? "")" } == [
                "unexpected cancellation 3", "unexpected missingTransaction 2", "expected wholeSeconds 17411",
                "expected innerOrder 612", "expected tokenCase 77", "expected sandboxPurge 31",
                "expected finishedConsumables 5",
            ])
        #expect((rules[2]["apps"] as? [[String: Any]])?.map { $0["count"] as? Int } == [8_410, 9_001])
        let difference = try #require((report["differences"] as? [[String: Any]])?.first)
        #expect(
            Set(difference.keys) == [
                "bundleId", "environment", "class", "rule", "path", "count", "firstSeen", "lastSeen", "examples",
            ])
        let example = try #require((difference["examples"] as? [[String: Any]])?.first)
        #expect(Set(example.keys) == ["receipt", "path", "class", "rule", "verifyReceipt", "serverAPI"])
    }

    @Test("JSON of an empty report has null shares, and untrusted text is a string")
    func edges() throws {
        var report = ComparisonReport(kind: .shadow, title: "\"<\u{202E}\0", madeAt: SharedSimulator.noon)
        report.apps = [ReportSample.app(ReportSample.safe, compared: 0, equal: 0)]
        let app = try #require((try object(report)["apps"] as? [[String: Any]])?.first)
        #expect(app["share"] is NSNull && app["upperBound"] is NSNull)
        #expect(try object(report)["title"] as? String == report.title)
        #expect(try object(try hostileReport("]}\",<\u{2028}")).count == 9)
    }

    @Test("Markdown starts with the sentences and contains the tables")
    func markdown() throws {
        let text = try ReportSample.report().markdown
        #expect(text.hasPrefix("# Comparison of receipts.jsonl\n\n"))
        #expect(
            text.contains(
                "- **Do not switch yet: com.example.app, Production.** 12,340 of 12,345 receipts of 9,876 customers (99.96 %)"
            ))
        #expect(
            text.contains(
                "| × unexpected cancellation One side has a refund that the other does not. Apple: latest\\_receipt\\_info | 3 | "
                    + "latestTransactions\\[\\].revocationDate com.example.app, Production: 3, ≤ 0.02 % of the receipts, seen "
                    + "2026-11-20 12:00 to 2026-11-21 12:00 (latestTransactions\\[200\\].revocationDate verifyReceipt "
                    + "2026-09-21 14:13:20 UTC, Server API nothing, Receipt sha256:cancellation) |"))
        #expect(text.components(separatedBy: "| ≈ expected wholeSeconds (may be noticed) ").count == 2)
        #expect(!text.contains("Side by side"))
        #expect(text.contains("- Get Transaction History V2 was used for 120 comparisons, V1 3."))
    }

    // T27
    @Test(
        "Hostile text in Markdown is not markup and stays in its cell",
        arguments: Named.list([
            "<script>alert(1)</script>", "a|b\n| c | d |", "`code` **bold** [link](https://example.org) ![i](x)",
            "# head\u{2028}- list", "a\\|b", "\u{202E}abc", String(repeating: "|", count: 1_000_000),
        ]))
    func hostileMarkdown(text: Named<String>) throws {
        let markdown = try hostileReport(text.value).markdown
        #expect(!markdown.contains("<") && !markdown.contains("://") && markdown.utf8.count < 100_000)
        #expect(!markdown.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{2028}" })
        for line in markdown.split(separator: "\n") where line.hasPrefix("| × unexpected") {
            // A pipe after an odd number of backslashes is text.
            var (cells, backslashes) = (0, 0)
            for character in line {
                if character == "|", backslashes.isMultiple(of: 2) { cells += 1 }
                backslashes = character == "\\" ? backslashes + 1 : 0
            }
            #expect(cells == 4, "\(line)")
        }
    }

    @Test("A report has a few hundred lines, however many receipts have the same difference")
    func million() throws {
        let (count, text) = TestSize.pick(debug: (10_000, "10,000"), release: (1_000_000, "1,000,000"))
        let fixture = ReportSample.fixture(of: "cancellation")
        let differences = try fixture.differences()
        var tally = ComparisonSummary()
        for _ in 0..<count { tally.add(differences, of: ReportSample.unsafe) }
        let report = tally.report(.run, title: "many", madeAt: SharedSimulator.noon)
        #expect(report.bytes(as: .html).count < 60_000 && report.json.count < 4_000)
        #expect(report.markdown.contains("0 of \(text) receipts (0 %) would get the same answer; \(text) differ"))
    }

    @Test(
        "The file name extension selects the format, and only the owner can read the file",
        arguments: ["html", "json", "md"])
    func files(ending: String) throws {
        let folder = TestProcess.folder.appending(path: "report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "report.\(ending)").path
        let report = try ReportSample.report()
        try report.write(to: path)
        try report.write(to: path)
        let kind = try #require(ComparisonReport.kinds.first { $0.rawValue == ending })
        #expect(FileManager.default.contents(atPath: path).map(Array.init) == report.bytes(as: kind))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        #expect(throws: (any Error).self) { try report.write(to: folder.appending(path: "report.txt").path) }
    }
}
