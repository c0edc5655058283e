import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeComparison
import Testing

@Suite("Progress line of a comparison")
struct ComparisonProgressTests {
    private func snapshot() -> ComparisonStatus {
        var snapshot = ComparisonStatus()
        (snapshot.rows, snapshot.compared, snapshot.unexpected, snapshot.failed) = (1_200, 1_180, 3, 20)
        (snapshot.calls, snapshot.fraction) = (2_468, 0.63)
        return snapshot
    }

    @Test("The least important parts are omitted on a narrow terminal")
    func narrow() {
        let progress = snapshot().progress(wait: nil)
        #expect(
            progress.text
                == "compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed, 2,468 calls")
        #expect(progress.text(columns: 79) == "compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed")
        #expect(progress.text(columns: 39) == "compared 1,180 of 1,200 rows: 3 differ")
        #expect(progress.text(columns: 37) == "compared 1,180 of 1,200 rows")
    }

    @Test("The wait for a rate limit has precedence over all other parts")
    func waiting() {
        let progress = snapshot().progress(
            wait: RateLimitWait(left: .milliseconds(41_200), isNamedByApple: false))
        #expect(
            progress.text == "compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed, 2,468 calls, "
                + "waiting 42 s: App Store Server API rate limit")
        #expect(
            progress.text(columns: 79) == "compared 1,180 of 1,200 rows, waiting 42 s: App Store Server API rate limit")
        #expect(progress.text(columns: 39) == "waiting 42 s: rate limit")
        #expect(
            snapshot().progress(wait: RateLimitWait(left: .milliseconds(900), isNamedByApple: false)).text
                == snapshot().progress(wait: nil).text)
    }
}
