import Comparison
import Testing

/// Regression tests: an outdated expiration date must not be unexpected (`expiresDate`) if `latest_receipt_info` does
/// not contain the old period.
@Suite("Receipts older than the newest period")
struct StaleSnapshotTests {
    @Test("An outdated expiration date in an iOS 6 receipt is expected")
    func flat() throws {
        #expect(try said(Self.flatScene) == ["expected inAppSnapshot transactions[100].expiresDate"])
    }

    @Test("An outdated expiration date in in_app is expected if only the newest periods were requested")
    func excludingOld() throws {
        #expect(try said(Self.excludingScene) == ["expected inAppSnapshot transactions[100].expiresDate"])
    }

    @Test("A refund that such a receipt lacks is unexpected", arguments: [true, false])
    func refund(isFlat: Bool) throws {
        var scene = isFlat ? Self.flatScene : Self.excludingScene
        scene.history[0]["revocationDate"] = ComparisonFixture.now - 30 * ComparisonFixture.day
        #expect(
            try said(scene) == [
                "expected inAppSnapshot transactions[100].expiresDate",
                "unexpected cancellation transactions[100].revocationDate",
            ])
    }

    @Test("A different expiration date is unexpected if there is no newer period", arguments: [true, false])
    func newest(isFlat: Bool) throws {
        var scene = isFlat ? Self.flatScene : Self.excludingScene
        if isFlat { scene.flatLatest = nil } else { scene.latest.removeFirst() }
        #expect(try said(scene) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    @Test("A different expiration date is unexpected if all periods were requested and the old one is missing")
    func notExcludingOld() throws {
        var scene = Self.excludingScene
        scene.context.excludesOldTransactions = false
        #expect(try said(scene) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    @Test("An expiration date that only one side has is unexpected", arguments: [true, false])
    func noEnd(isFlat: Bool) throws {
        var scene = isFlat ? Self.flatScene : Self.excludingScene
        scene.history[0]["expiresDate"] = nil
        #expect(try said(scene) == ["unexpected expiresDate transactions[100].expiresDate"])
    }

    /// Returns the differences in the receipt's own rows.
    private func said(_ scene: ComparisonFixture) throws -> [String] {
        try scene.differences().filter { $0.path.hasPrefix("transactions[].") }.map {
            "\($0.verdict.rawValue) \($0.rule) \($0.fullPath)"
        }
    }

    /// The row of the old period has an expiration date that was changed later.
    private static var excludingScene: ComparisonFixture {
        var scene = ComparisonFixture()
        scene.snapshot[0]["expires_date_ms"] = "\(ComparisonFixture.now - 11 * ComparisonFixture.day)"
        scene.latest.removeFirst()
        scene.context.excludesOldTransactions = true
        return scene
    }

    /// The same in an iOS 6 receipt, where `expires_date` is in milliseconds.
    private static var flatScene: ComparisonFixture {
        func iOS6(_ wire: ComparisonFixture.Object) -> ComparisonFixture.Object {
            var row = wire
            row["expires_date"] = wire["expires_date_ms"]
            row["expires_date_ms"] = nil
            row["subscription_group_identifier"] = "20000001"
            return row.merging(["bid": "com.example.app", "app_item_id": "1234567890"]) { $1 }
        }
        var scene = excludingScene
        scene.context.excludesOldTransactions = false
        scene.isFlat = true
        scene.receipt = iOS6(scene.snapshot[0])
        scene.flatLatest = iOS6(scene.latest[0])
        return scene
    }
}
