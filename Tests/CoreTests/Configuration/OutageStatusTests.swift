import ReceiptBridgeBase
import ReceiptBridgeCore
import Testing

@Suite("outageStatus")
struct OutageStatusTests {
    @Test("21005, 21100 to 21199 and 503 are accepted", arguments: ["21005", "21100", "21150", "21199", "503"])
    func accepted(text: String) {
        #expect(OutageStatus(text)?.description == text)
        #expect(OutageStatus(text)?.bodyStatus.rawValue == (text == "503" ? 21005 : Int(text)))
    }

    @Test(
        "Every other number and text is refused",
        arguments: [
            "0", "200", "500", "21002", "21004", "21006", "21009", "21010", "21099", "21200", "-503", "", "503x",
        ])
    func refused(text: String) { #expect(OutageStatus(text) == nil) }
}
