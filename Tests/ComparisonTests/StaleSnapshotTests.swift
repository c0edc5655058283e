import ReceiptBridgeComparison
import Testing

/// Regression tests: an outdated expiration date must not be unexpected (`expiresDate`) if `latest_receipt_info` does
/// not contain the old period.
@Suite("Receipts older than the newest period")
struct StaleSnapshotTests {
    @Test("An outdated expiration date in an iOS 6 receipt is expected")
    func flat() throws {
        #expect(try describe(Self.flatFixture) == ["expected inAppSnapshot transactions[100].expiresDate"])
    }

    @Test("An outdated expiration date in in_app is expected if only the newest periods were requested")
    func excludingOld() throws {
        #expect(try describe(Self.excludingFixture) == ["expected inAppSnapshot transactions[100].expiresDate"])
    }

    @Test("A refund that such a receipt lacks is unexpected", arguments: [true, false])
    func refund(isFlat: Bool) throws {
        var fixture = isFlat ? Self.flatFixture : Self.excludingFixture
        fixture.history[0]["revocationDate"] = ComparisonFixture.ago(30)
        #expect(
            try describe(fixture) == [
                "expected inAppSnapshot transactions[100].expiresDate",
                "unexpected cancellation transactions[100].revocationDate",
            ])
    }

    @Test("A different expiration date is unexpected if there is no newer period", arguments: [true, false])
    func newest(isFlat: Bool) throws {
        var fixture = isFlat ? Self.flatFixture : Self.excludingFixture
        if isFlat { fixture.flatLatest = nil } else { fixture.latest.removeFirst() }
        #expect(try describe(fixture) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    @Test("A different expiration date is unexpected if all periods were requested and the old one is missing")
    func notExcludingOld() throws {
        var fixture = Self.excludingFixture
        fixture.context.excludesOldTransactions = false
        #expect(try describe(fixture) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    @Test("An expiration date that only one side has is unexpected", arguments: [true, false])
    func noEnd(isFlat: Bool) throws {
        var fixture = isFlat ? Self.flatFixture : Self.excludingFixture
        fixture.history[0]["expiresDate"] = nil
        #expect(try describe(fixture) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    private func describe(_ fixture: ComparisonFixture) throws -> [String] {
        try fixture.described().filter { $0.contains(" transactions[") }
    }

    /// The row of the old period has an expiration date that was changed later.
    private static var excludingFixture: ComparisonFixture {
        var fixture = ComparisonFixture()
        fixture.snapshot[0]["expires_date_ms"] = "\(ComparisonFixture.ago(11))"
        fixture.latest.removeFirst()
        fixture.context.excludesOldTransactions = true
        return fixture
    }

    /// The same in an iOS 6 receipt, where `expires_date` is in milliseconds.
    private static var flatFixture: ComparisonFixture {
        func iOS6(_ wire: ComparisonFixture.Object) -> ComparisonFixture.Object {
            var row = wire
            row["expires_date"] = wire["expires_date_ms"]
            row["expires_date_ms"] = nil
            row["subscription_group_identifier"] = "20000001"
            return row.merging(["bid": "com.example.app", "app_item_id": "1234567890"]) { $1 }
        }
        var fixture = excludingFixture
        fixture.context.excludesOldTransactions = false
        fixture.isFlat = true
        fixture.receipt = iOS6(fixture.snapshot[0])
        fixture.flatLatest = iOS6(fixture.latest[0])
        return fixture
    }
}
