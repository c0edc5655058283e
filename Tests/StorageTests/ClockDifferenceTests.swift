import ReceiptBridgeBase
import ReceiptBridgeStorage
import Testing

@Suite("Difference between clocks")
struct ClockDifferenceTests {
    private static func difference(_ time: Int64, _ begin: Int64, _ end: Int64) -> ClockDifference {
        ClockDifference(
            of: Timestamp(milliseconds: time), readBetween: Timestamp(milliseconds: begin),
            and: Timestamp(milliseconds: end))
    }

    @Test(
        "What the duration of the exchange explains is no difference; two seconds are too much",
        arguments: [
            (10_000, 9_999, 10_001, "the database's clock agrees with this machine's", false),
            (10_000, 1_000, 19_000, "the database's clock agrees with this machine's", false),
            (12_000, 9_000, 10_001, "the database's clock is 1999 ms ahead of this machine's", false),
            (12_001, 9_000, 10_001, "the database's clock is 2000 ms ahead of this machine's", true),
            (10_000, 11_999, 13_000, "the database's clock is 1999 ms behind this machine's", false),
            (10_000, 610_000, 610_002, "the database's clock is 600000 ms behind this machine's", true),
        ] as [(Int64, Int64, Int64, String, Bool)])
    func difference(time: Int64, begin: Int64, end: Int64, text: String, isTooLarge: Bool) {
        let found = Self.difference(time, begin, end)
        #expect(found.description == text && found.isTooLarge == isTooLarge)
    }

    @Test("A difference is reported once when it becomes too large, and once when it is half of that")
    func watch() {
        var watch = ClockWatch()
        let steps: [(difference: Int64, isChanged: Bool, isTooLarge: Bool)] = [
            (0, false, false), (1_999, false, false), (-2_000, true, true), (1_999, false, true), (5_000, false, true),
            (1_000, false, true), (-999, true, false), (1_999, false, false), (2_000, true, true),
        ]
        for step in steps {
            #expect(watch.record(Self.difference(step.difference, 0, 0)) == step.isChanged)
            #expect(watch.isTooLarge == step.isTooLarge && watch.difference?.duration == .milliseconds(step.difference))
        }
    }
}
