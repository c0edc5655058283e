import ReceiptBridgeBase
import Testing

@Suite("Values of receipts and responses")
struct ValueTests {
    @Test(
        "Seconds of a timestamp are rounded down",
        arguments: [
            (-1_001, -2), (-1_000, -1), (-1, -1), (0, 0), (999, 0), (1_000, 1), (1_795_262_400_000, 1_795_262_400),
        ] as [(Int64, Int64)])
    func seconds(milliseconds: Int64, seconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).seconds == seconds)
    }

    @Test("Timestamps are compared and moved in milliseconds")
    func timestamps() {
        let start = Timestamp(seconds: 1)
        #expect(start == Timestamp(milliseconds: 1_000))
        #expect(start.advanced(by: .milliseconds(-1)) < start)
        #expect(start.advanced(by: .milliseconds(500)).milliseconds == 1_500)
    }

    @Test(
        "Only 21005, 21009 and 21100 to 21199 are temporary statuses",
        arguments: [
            (0, false), (21000, false), (21002, false), (21003, false), (21005, true), (21006, false), (21009, true),
            (21010, false), (21099, false), (21100, true), (21199, true), (21200, false),
        ])
    func temporaryStatus(number: Int, isTemporary: Bool) {
        #expect(VerifyReceiptStatus(rawValue: number).isTemporary == isTemporary)
    }

    @Test("A status without a name keeps its number")
    func unknownStatus() {
        #expect(VerifyReceiptStatus(rawValue: 29_999).description == "29999")
        #expect(VerifyReceiptStatus(rawValue: 21005) == .temporarilyUnavailable)
        #expect(!VerifyReceiptStatus.temporarilyUnavailable.isInternalDataAccess)
    }

    @Test("Environments have Apple's names")
    func environments() {
        #expect(AppStoreEnvironment.allCases.map(\.rawValue) == ["Production", "Sandbox", "Xcode"])
    }

    @Test("A redacted value is printed as asterisks by every way of printing")
    func redacted() {
        let secret = SharedSecret("5afb5f7a")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] {
            #expect(!text.contains("5afb5f7a"))
        }
        #expect("\(secret)" == "***")
        #expect(secret.reveal() == "5afb5f7a")
        #expect(secret == SharedSecret("5afb5f7a"))
    }
}
