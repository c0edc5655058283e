import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeCryptography
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Comparison page")
struct ComparisonPageTests {
    @Test("The page is well-formed, loads nothing, and has one script that its policy allows")
    func page() throws {
        let bytes = ComparisonPage(try ReportSample.report()).page.html
        let page = try ReportDocument(bytes)
        let policy = try #require(page.all("meta").first { $0.attributes["http-equiv"] != nil }?.attributes["content"])
        let script = try #require(page.all("script").first)
        let digest = Data(SHA.digest(Array(script.text.utf8), with: .sha256)).base64EncodedString()
        #expect(
            policy == """
                default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\(digest)'; base-uri 'none'; \
                form-action 'none'
                """)
        #expect(page.all("script").count == 1 && policy == ComparisonPage.policy)
        #expect(page.elements.allSatisfy { $0.attributes["src"] == nil && $0.attributes["style"] == nil })
        #expect(["link", "img", "iframe", "object", "form"].allSatisfy { page.all($0).isEmpty })
        #expect(page.elements.flatMap(\.attributes.keys).allSatisfy { !$0.hasPrefix("on") })
        let links = page.all("a").compactMap { $0.attributes["href"] }
        let ids = page.elements.compactMap { $0.attributes["id"] }
        #expect(Set(ids).count == ids.count)
        #expect(
            links.allSatisfy {
                ids.contains(String($0.dropFirst())) || $0.hasPrefix("https://developer.apple.com/documentation/")
            })
    }

    // T27
    @Test(
        "The page shows untrusted text as text",
        arguments: Named.list([
            "</script><script>alert(1)</script>", #""><img src=x onerror="alert(1)">"#, "]]>&amp;<!--'\"",
            "a\u{202E}b\u{2066}", "\0\u{1B}[31m\u{7F}\u{FEFF}\u{FFFE}", String(repeating: "<b>", count: 350_000),
        ]))
    func hostile(text: Named<String>) throws {
        let bytes = ComparisonPage(try hostileReport(text.value)).page.html
        let page = try ReportDocument(bytes)
        #expect(page.all("script").count == 1 && page.all("img").isEmpty && page.all("b").isEmpty)
        let html = String(decoding: bytes, as: UTF8.self)
        let unseen = html.unicodeScalars.filter {
            $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.generalCategory == .format)
        }
        #expect(unseen.isEmpty)
        #expect(bytes.count < 200_000, "\(bytes.count)")
    }

    @Test("The size of the page is bounded")
    func bounded() throws {
        var report = try ReportSample.report()
        let entry = try #require(report.entries.first)
        var pair = try #require(report.pairs.first)
        pair.sections = []
        report.entries = Array(repeating: entry, count: 5_000)
        report.pairs = Array(repeating: pair, count: ComparisonPage.maximumPairs + 80)
        let page = try ReportDocument(ComparisonPage(report).page.html)
        #expect(page.all("li").filter { $0.attributes["data-app"] != nil }.count == ComparisonPage.maximumEntries)
        #expect(page.all("details").filter { $0.attributes["class"] == "receipt" }.count == ComparisonPage.maximumPairs)
        let text = page.all("body").first?.text ?? ""
        #expect(text.contains("3,000 more in the report as JSON.") && text.contains("80 more are not shown."))
    }

    @Test("The page shows both documents of every receipt in the report, those with unexpected differences first")
    func unexpectedFirst() throws {
        var report = try ReportSample.report()
        let expected = try ReportSample.pair(of: "sandboxPurge")
        report.pairs = (0..<38).map { number in
            var pair = expected
            pair.receipt = "sha256:expected\(number)"
            return pair
        }
        report.pairs.append(try ReportSample.pair(of: "cancellation"))
        let page = try ReportDocument(ComparisonPage(report).page.html)
        let receipts = page.all("details").filter { $0.attributes["class"] == "receipt" }
        let names = receipts.compactMap { $0.text.split(whereSeparator: \.isWhitespace).first.map(String.init) }
        #expect(names == ["sha256:cancellation"] + (0..<38).map { "sha256:expected\($0)" })
        #expect(receipts.map { $0.attributes["open"] != nil } == [true] + Array(repeating: false, count: 38))
        #expect(page.all("body").first?.text.contains("more are not shown.") == false)
    }

    @Test("The page of an empty report says that there is nothing")
    func empty() throws {
        let report = ComparisonReport(kind: .shadow, title: "receipt-bridge", madeAt: SharedSimulator.noon)
        let page = try ReportDocument(ComparisonPage(report).page.html)
        let text = page.all("body").first?.text ?? ""
        #expect(text.contains("No receipt was compared.") && text.contains("Nothing differs."))
    }

    /// The report of the samples, with hostile values.
    private func sampleReport() throws -> ComparisonReport {
        var report = try ReportSample.report()
        let hostile = try hostileReport("</td><script>document.title='broken'</script>\u{202E}")
        report.apps += hostile.apps
        report.entries += hostile.entries
        report.pairs += hostile.pairs
        return report
    }

    @Test("The page is as recorded; RECORD_GOLDENS=1 writes it and fails once")
    func recorded() throws {
        let page = ComparisonPage(try sampleReport()).page.html
        #expect(try RecordedDocument.has(page: page, in: "Tests/Pages/comparison.html"), "\(RecordedDocument.hint)")
    }

}

/// A report whose untrusted values are all hostile.
func hostileReport(_ text: String) throws -> ComparisonReport {
    var fixture = ComparisonFixture()
    fixture.receipt["bundle_id"] = text
    fixture.latest[1].merge(["product_id": text, "transaction_id": text, text: text]) { $1 }
    fixture.top[text] = text
    fixture.context.receipt = text
    let scope = ComparisonReport.Scope(bundleId: text, environment: text)
    var report = ComparisonReport(kind: .run, title: text, madeAt: SharedSimulator.noon)
    report.apps = [ReportSample.app(scope, compared: 1, equal: 0, failures: [text: 1])]
    report.entries = try fixture.differences().map {
        ComparisonReport.Entry(
            scope: scope, verdict: $0.verdict, rule: $0.rule, path: $0.path, count: 1, examples: [$0])
    }
    report.entries.append(ComparisonReport.Entry(scope: scope, verdict: .unexpected, rule: text, path: text, count: 1))
    report.pairs = [try fixture.pair()]
    report.notes = [text]
    return report
}
