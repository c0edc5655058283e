import Administration
import Base
import Operations
import Storage
import Testing

@Suite("Rules of renewal extensions")
struct ExtensionRuleTests {
    @Test(
        "Days must be 1 to 90 and reasons 0 to 3",
        arguments: [
            (0, 1, false), (1, 0, true), (90, 3, true), (91, 1, false), (-1, 1, false), (30, 4, false), (30, -1, false),
        ]
    )
    func terms(days: Int, reason: Int64, isGood: Bool) {
        #expect(((try? ExtensionInput(days: days, reason: reason)) != nil) == isGood)
    }

    @Test(
        "A request id is a UUID for all subscribers, and any text without spaces for one",
        arguments: [
            ("758883e8-151b-47b7-abd0-60c4d804c2f5", true, true), ("ours-1", false, true), ("", false, false),
            ("two words", false, false), (String(repeating: "a", count: 129), false, false),
        ])
    func identifiers(text: String, isUUID: Bool, isName: Bool) {
        #expect(((try? RequestIdentifier(uuid: text)) != nil) == isUUID)
        #expect(((try? RequestIdentifier(text)) != nil) == isName)
    }

    @Test(
        "Storefronts must be country codes of three capital letters",
        arguments: [
            ("USA", ["USA"]), ("USA,DEU", ["USA", "DEU"]), ("usa", nil), ("US", nil), ("", nil), ("USA,", nil),
        ])
    func storefronts(text: String, codes: [String]?) {
        #expect((try? Storefronts.codes(text)) == codes)
    }

    private static let day: Int64 = 86_400_000

    private func extended(_ name: String, day: Int64) -> ExtensionRow {
        ExtensionRow(
            originalTransactionId: "1", requestIdentifier: name, days: 30, reason: 1,
            extendedAt: Timestamp(milliseconds: day * Self.day), effectiveDate: nil)
    }

    @Test(
        "A third extension has to wait until the first is 365 days old; a repeated request does not count",
        arguments: [
            ([], 0, nil), ([0], 0, nil), ([0, 10], 20, 365), ([0, 10], 364, 365), ([0, 10], 365, nil),
            ([10, 0], 20, 365), ([0, 10, 380], 381, nil), ([0, 200, 380], 381, 565),
        ] as [([Int64], Int64, Int64?)])
    func twice(days: [Int64], today: Int64, next: Int64?) throws {
        let rows = days.map { extended("r\($0)", day: $0) }
        let now = Timestamp(milliseconds: today * Self.day)
        #expect(
            ExtensionQuota(rows, for: try RequestIdentifier("other")).next(at: now)
                == next.map { Timestamp(milliseconds: $0 * Self.day) })
        if let last = rows.last, rows.count == 2 {
            #expect(
                ExtensionQuota(rows, for: try RequestIdentifier(last.requestIdentifier)).next(at: now) == nil)
        }
    }

    @Test("The error says when the next extension is possible")
    func sentence() throws {
        let allowance = ExtensionQuota(
            [extended("a", day: 20_000), extended("b", day: 20_001)], for: try RequestIdentifier("c"))
        let now = Timestamp(milliseconds: 20_002 * Self.day)
        #expect(
            throws: InvalidOperation(
                "this subscription was extended twice in 365 days; the next extension is possible at 2025-10-04T00:00:00Z"
            )
        ) {
            try allowance.check(at: now)
        }
    }
}
