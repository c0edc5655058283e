import Comparison
import Foundation
import TestSupport
import Testing

@Suite("Listed rules")
struct RuleListingTests {
    @Test("docs/COMPARISON.md holds the rules as they are; RECORD_GOLDENS=1 writes them there and fails once")
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

    @Test("An override that names no rule is found")
    func unknownOverrides() {
        #expect(ComparisonRules.unknown(in: ["order": .ignore, "ordre": .ignore]) == ["ordre"])
    }
}
