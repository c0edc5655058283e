import ReceiptBridgeBase
import Testing

@Suite("Pauses in tests")
struct TestSpeedTests {
    @Test(
        "A divisor is a whole number from 1 to 1,000; everything else is 1",
        arguments: [
            (nil, 1), ("", 1), ("50", 50), ("1000", 1_000), ("1001", 1), ("0", 1), ("-2", 1), ("2.5", 1), ("fast", 1),
        ] as [(String?, Int)])
    func divisor(text: String?, expected: Int) { #expect(TestSpeed.divisor(text) == expected) }

    @Test("A pause is divided, not below the minimum, and never longer than it was")
    func pause() {
        #expect(Duration.seconds(5).atTestSpeed(divisor: 1) == .seconds(5))
        #expect(Duration.seconds(5).atTestSpeed(divisor: 50) == .milliseconds(100))
        #expect(Duration.seconds(5).atTestSpeed(atLeast: .milliseconds(500), divisor: 50) == .milliseconds(500))
        #expect(Duration.milliseconds(100).atTestSpeed(atLeast: .milliseconds(500), divisor: 50) == .milliseconds(100))
    }
}
