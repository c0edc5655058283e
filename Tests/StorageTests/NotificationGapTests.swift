import ReceiptBridgeBase
import ReceiptBridgeStorage
import Testing

@Suite("Gaps in the notifications")
struct NotificationGapTests {
    @Test(
        "Gaps are extended by a margin, and joined if they overlap",
        arguments: [
            ([], []),
            ([(10, 20)], [(7, 23)]),
            ([(30, 40), (10, 20)], [(7, 23), (27, 43)]),
            ([(26, 40), (10, 20)], [(7, 43)]),
            ([(10, 50), (20, 30), (51, 51)], [(7, 54)]),
        ] as [([(Int64, Int64)], [(Int64, Int64)])])
    func union(_ gaps: [(Int64, Int64)], _ expected: [(Int64, Int64)]) {
        func rows(_ pairs: [(Int64, Int64)]) -> [NotificationGap] {
            pairs.map { NotificationGap(from: Timestamp(milliseconds: $0.0), to: Timestamp(milliseconds: $0.1)) }
        }
        #expect(NotificationGap.union(of: rows(gaps), margin: .milliseconds(3)) == rows(expected))
    }
}
