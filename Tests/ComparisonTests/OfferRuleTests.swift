import ReceiptBridgeComparison
import Testing

@Suite("Comparison of free trials and offer codes")
struct OfferRuleTests {
    private static let uuid = "2f1e0d9c-8b7a-4c5d-9e6f-0a1b2c3d4e5f"

    /// The start of a free trial, its flags in verifyReceipt's row, and the name of the difference.
    static let trials: [(start: Int64, flags: [String], difference: [String])] = [
        // 2024-08-17T23:59:59.999Z
        (1_723_939_199_999, ["true", "false"], []), (1_723_939_199_999, ["true", "true"], ["unexpected unexplained"]),
        // 2024-08-18, 2024-08-31 and 2024-09-02: Apple's value is not known.
        (1_723_939_200_000, ["true", "false"], []),
        (1_723_939_200_000, ["true", "true"], ["expected trialFlagChange"]),
        (1_725_148_799_999, ["true", "true"], ["expected trialFlagChange"]),
        (1_725_148_800_000, ["true", "true"], []),
        (1_725_148_800_000, ["true", "false"], ["expected trialFlagChange"]),
        (1_725_321_599_999, ["true", "false"], ["expected trialFlagChange"]),
        // There, too, a row must say that the period is free.
        (1_725_148_799_999, ["false", "true"], ["unexpected unexplained", "unexpected unexplained"]),
        // 2024-09-03
        (1_725_321_600_000, ["true", "true"], []), (1_725_321_600_000, ["true", "false"], ["unexpected unexplained"]),
        // 2026-11-01
        (1_793_491_200_000, ["true", "true"], []), (1_793_491_200_000, ["true", "false"], ["unexpected unexplained"]),
    ]

    @Test("A free trial has the flags of its purchase date", arguments: trials)
    func trial(start: Int64, flags: [String], difference: [String]) throws {
        var fixture = ComparisonFixture()
        fixture.add(ComparisonFixture.trial("090", start: start, flags: flags))
        #expect(try fixture.found() == difference)
    }

    /// The keys of verifyReceipt's row, those of the transaction, and the name of the difference.
    private static var codes: [([String: String], [String: Any], [String])] {
        [
            (["offer_code_ref_name": "Fair", "promotional_offer_id": uuid], code, ["expected offerCodeUUID"]),
            (
                ["offer_code_ref_name": "Fair", "promotional_offer_id": uuid.uppercased()], code,
                ["expected offerCodeUUID"]
            ),
            (["offer_code_ref_name": "Fair"], code, []),
            (
                ["offer_code_ref_name": "Fair", "promotional_offer_id": "fair"], code, ["unexpected unexplained"]
            ),
            (["promotional_offer_id": uuid], [:], ["unexpected unexplained"]),
            (["promotional_offer_id": "summer"], ["offerType": 2, "offerIdentifier": "summer"], []),
            (["promotional_offer_id": uuid], ["offerType": 2, "offerIdentifier": uuid], []),
        ]
    }

    private static var code: [String: Any] { ["offerType": 3, "offerIdentifier": "Fair"] }

    @Test("Only verifyReceipt has the UUID of an offer code")
    func codes() throws {
        for (wire, row, difference) in Self.codes {
            var fixture = ComparisonFixture()
            fixture.latest[1].merge(wire) { $1 }
            fixture.history[1].merge(row) { $1 }
            #expect(try fixture.found() == difference, "\(wire)")
        }
        // In `in_app` the name is missing, and is not needed.
        var fixture = ComparisonFixture()
        fixture.snapshot[0]["promotional_offer_id"] = Self.uuid
        fixture.latest[0]["offer_code_ref_name"] = "Fair"
        fixture.history[0].merge(Self.code) { $1 }
        #expect(try fixture.found() == ["expected offerCodeUUID"])
    }
}

extension ComparisonFixture {
    fileprivate func found() throws -> [String] { try differences().map { "\($0.verdict.rawValue) \($0.rule)" } }
}
