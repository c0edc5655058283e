import ReceiptBridgeAdministration
import ReceiptBridgeCore
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
}
