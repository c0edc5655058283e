import Comparison
import Foundation
import TestSupport
import Testing

@Suite("Listing of comparison rules")
struct RuleListingTests {
    @Test("docs/COMPARISON.md contains the current rules; RECORD_GOLDENS=1 updates it and fails once")
    func listing() throws {
        let file = Repository.folder.appending(path: "docs/COMPARISON.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- rules: begin -->\n"))
        let end = try #require(text.range(of: "<!-- rules: end -->"))
        let section = "\n" + RuleListing.markdown(ComparisonRules.all) + "\n"
        if ProcessInfo.processInfo.environment["RECORD_GOLDENS"] == "1" {
            let recorded = text[..<begin.upperBound] + section + text[end.lowerBound...]
            try Data(recorded.utf8).write(to: file)
            Issue.record("recorded: run the tests again without RECORD_GOLDENS")
        } else {
            #expect(
                text[begin.upperBound..<end.lowerBound] == section,
                "stale: run `RECORD_GOLDENS=1 swift test --filter RuleListingTests`")
        }
    }

    @Test("An override of an unknown rule is detected")
    func unknownOverrides() {
        #expect(ComparisonRules.unknown(in: ["order": .ignore, "ordre": .ignore]) == ["ordre"])
    }
}
