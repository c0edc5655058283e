import ReceiptBridgeBase
import ReceiptBridgeStorage
import Testing

@Suite("Times of facts")
struct FactTimeTests {
    private static func signed(_ seconds: Int64) -> FactTime { .signed(Timestamp(seconds: seconds)) }
    private static func asked(_ seconds: Int64) -> FactTime { .asked(Timestamp(seconds: seconds)) }

    @Test(
        "The later of two statements counts, and an unsigned one counts over a signed one only five minutes later",
        arguments: [
            (signed(1_000), nil, true), (asked(1_000), nil, true),
            (signed(1_000), signed(1_000), true), (signed(1_000), signed(1_001), false),
            (signed(1_001), signed(1_000), true),
            (asked(1_000), asked(1_000), true), (asked(1_000), asked(1_001), false), (asked(1_001), asked(1_000), true),
            (asked(1_300), signed(1_000), true), (asked(1_299), signed(1_000), false),
            (asked(900), signed(1_000), false),
            (signed(1_000), asked(1_299), true), (signed(1_000), asked(1_300), false),
            (signed(2_000), asked(1_000), true),
        ] as [(FactTime, FactTime?, Bool)])
    func table(new: FactTime, stored: FactTime?, counts: Bool) { #expect(new.counts(over: stored) == counts) }

    @Test("Of two facts of different times, exactly one counts over the other, whichever arrives first")
    func order() {
        let times = [0, 1, 299, 300, 301, 600].flatMap { [Self.signed($0), Self.asked($0)] }
        for one in times {
            for other in times where one != other {
                #expect(one.counts(over: other) != other.counts(over: one), "\(one) \(other)")
            }
        }
    }

    @Test("A revocation was reported when it was signed, otherwise when verifyReceipt was asked")
    func reported() {
        let time = Timestamp(seconds: 5)
        func row(_ signed: Timestamp?, _ asked: Timestamp?) -> RevocationRow {
            RevocationRow(
                transactionId: "1", webOrderLineItemId: nil, date: time, reason: nil, signedDate: signed, askedAt: asked
            )
        }
        #expect(row(time, nil).reportedAt == .signed(time))
        #expect(row(nil, time).reportedAt == .asked(time))
        #expect(row(nil, nil).reportedAt == nil)
    }
}
