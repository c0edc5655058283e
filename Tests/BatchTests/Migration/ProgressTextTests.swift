import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import Testing

@Suite("Progress line of a migration")
struct ProgressTextTests {
    private func reading() throws -> MigrationStatus {
        var snapshot = MigrationStatus()
        snapshot.fraction = 0.63
        let counts = """
            {"rows": 120000, "outcomes": {"decoded": 118000, "refused": 2000}, "kinds": {}, "environments": {}, "years": {},
            "repairs": {}, "reasons": {}, "refusals": {}, "authentic": 118000, "renamedIds": 0}
            """
        snapshot.counts = try JSONDecoder().decode(MigrationCounts.self, from: Data(counts.utf8))
        return snapshot
    }

    private func asking() -> MigrationStatus {
        var snapshot = MigrationStatus()
        snapshot.phase = .asking
        (snapshot.customers.waiting, snapshot.customers.known) = (58_766, 1_234)
        (snapshot.calls, snapshot.budgetLeft) = (2_468, 120)
        return snapshot
    }

    @Test("The least important parts are omitted on a narrow terminal while rows are read")
    func readingRows() throws {
        let progress = try reading().progress(rate: 41_200, elapsed: 200, wait: nil)
        #expect(
            progress.text
                == "reading 120,000 rows, 41,200/s, 63 %, 1 min left: decoded 118,000, refused 2,000")
        #expect(
            progress.text(columns: 79) == "reading 120,000 rows, 41,200/s, 63 %, 1 min left: refused 2,000")
        #expect(progress.text(columns: 39) == "reading 120,000 rows, 63 %, 1 min left")
        #expect(progress.text(columns: 12) == "120,000 rows")
        #expect(progress.text(columns: 8) == "120,000…")
        #expect(progress.text(columns: 1) == "…")
        #expect(progress.text(columns: 0).isEmpty)
    }

    @Test("On a wide terminal a bar has the percentage, and the line is not wider than the terminal")
    func bar() throws {
        let line = try reading().progress(rate: 41_200, elapsed: 200, wait: nil).line(columns: 77)
        #expect(line.bar == "[############--------]  63 %  ")
        #expect(line.rest == "reading 120,000 rows, 41,200/s, 1 min left")
        #expect(try reading().progress(rate: 1, elapsed: 200, wait: nil).line(columns: 39).bar.isEmpty)
    }

    @Test("Rate and remaining time are measured since the first line, without what an earlier run did")
    func pace() {
        var pace = ProgressPace()
        func parts(_ items: Int64, at seconds: Double) -> String {
            ProgressText(pace.parts(of: ProgressText([], fraction: Double(items) / 1_000, items: items), at: seconds))
                .text
        }
        #expect(parts(500, at: 0).isEmpty && parts(510, at: 0.5).isEmpty)
        #expect(parts(600, at: 10) == "10/s, 40 s left")
        #expect(parts(1_000, at: 20) == "25/s")
    }

    @Test("The wait for a rate limit has precedence over all other parts")
    func waiting() {
        let wait = RateLimitWait(left: .milliseconds(41_200), isNamedByApple: false)
        let progress = asking().progress(rate: 0, elapsed: 200, wait: wait)
        #expect(
            progress.text == "looking up customers: 1,234 of 60,000, 2,468 calls, 120 left of this hour, "
                + "waiting 42 s: App Store Server API rate limit")
        #expect(
            progress.text(columns: 79)
                == "customers 1,234 of 60,000, waiting 42 s: App Store Server API rate limit")
        #expect(progress.text(columns: 39) == "waiting 42 s: rate limit")
        #expect(
            asking().progress(
                rate: 0, elapsed: 200, wait: RateLimitWait(left: .milliseconds(900), isNamedByApple: false)
            ).text == "looking up customers: 1,234 of 60,000, 2,468 calls, 120 left of this hour")
    }

    @Test(
        "A wait for a time that Apple named shows the time: never an earlier one, and seconds if it is near",
        arguments: [
            // The clock shows 13:58:20; the wait is measured some milliseconds before or after.
            (400_000, "14:05"), (399_997, "14:05"), (400_003, "14:05"), (401_000, "14:06"), (120_000, "14:01"),
            (119_000, "14:00:19"), (1_000, "13:58:21"), (3_600_000, "14:59"), (36_100_000, "00:00"),
        ])
    func waitingForApple(milliseconds: Int, time: String) throws {
        let wait = RateLimitWait(left: .milliseconds(milliseconds), isNamedByApple: true)
        let part = try #require(
            ProgressText.Part.waiting(
                wait, importance: 9, now: Timestamp(milliseconds: 1_795_269_500_000),
                localTime: { CivilTime(seconds: $0) }))
        #expect(ProgressText([part]).text == "waiting for Apple until \(time)")
    }

    @Test("Customers are counted while account tokens are set")
    func accounts() {
        var snapshot = MigrationStatus()
        snapshot.phase = .linking
        (snapshot.accounts.all, snapshot.accounts.done, snapshot.accounts.failed) = (4_000, 120, 3)
        snapshot.calls = 130
        let progress = snapshot.progress(rate: 0, elapsed: 9, wait: nil)
        #expect(progress.text == "setting account tokens: 120 of 4,000 customers, 130 calls, 3 failed")
        #expect(progress.text(columns: 39) == "tokens 120 of 4,000, 3 failed")
    }

    @Test("The line is never wider than the terminal", arguments: 0...120)
    func widths(columns: Int) throws {
        for progress in [
            try reading().progress(rate: 1, elapsed: 1, wait: nil),
            asking().progress(rate: 1, elapsed: 1, wait: RateLimitWait(left: .seconds(3_600), isNamedByApple: false)),
        ] { #expect(progress.text(columns: columns).count <= columns) }
    }
}
