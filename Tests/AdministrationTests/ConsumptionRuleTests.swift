import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import Testing

@Suite("Rules of consumption information")
struct ConsumptionRuleTests {
    struct Case: Sendable {
        var type: ProductType? = .consumable
        var delivery: String? = "DELIVERED"
        var percentage: Int64?
        var preference: String?
        /// Part of the expected error; `nil` if the input is valid.
        var refusal: String?
    }

    static let cases: [Case] = [
        Case(), Case(percentage: 0), Case(percentage: 100_000), Case(percentage: 67_932, preference: "DECLINE"),
        Case(percentage: 100_001, refusal: "0 to 100000"), Case(percentage: -1, refusal: "0 to 100000"),
        Case(delivery: nil, refusal: "--delivery-status"), Case(delivery: "delivered", refusal: "not one of DELIVERED"),
        Case(preference: "GRANT", refusal: "not one of DECLINE"),
        Case(delivery: "UNDELIVERED_OTHER", percentage: 1, refusal: "must be 0"),
        Case(delivery: "UNDELIVERED_OTHER", percentage: 0),
        Case(type: .autoRenewable),
        Case(type: .autoRenewable, percentage: 0, refusal: "not allowed for a subscription"),
        Case(type: .autoRenewable, preference: "GRANT_PRORATED"),
        Case(preference: "GRANT_PRORATED", refusal: "between 0 and 100000"),
        Case(percentage: 0, preference: "GRANT_PRORATED", refusal: "between 0 and 100000"),
        Case(percentage: 100_000, preference: "GRANT_PRORATED", refusal: "between 0 and 100000"),
        Case(type: .nonRenewing, percentage: 40_000, preference: "GRANT_PRORATED"),
        Case(type: .nonConsumable, preference: "GRANT_FULL"),
        Case(type: nil, preference: "GRANT_PRORATED"), Case(type: nil, percentage: 5),
    ]

    @Test("Delivery status, product type and refund preference are checked together", arguments: cases)
    func rules(_ example: Case) {
        let draft = ConsumptionInput(
            sampleContentProvided: false, deliveryStatus: example.delivery, percentage: example.percentage,
            refundPreference: example.preference)
        do throws(InvalidOperation) {
            let request = try draft.request(for: example.type)
            #expect(example.refusal == nil, "\(example)")
            #expect(request.consumptionPercentage == example.percentage)
        } catch {
            #expect(example.refusal.map { error.reason.contains($0) } == true, "\(example): \(error)")
        }
    }

    @Test(
        "Version 1 requires numbers in range, a UUID or an empty token, and a consumable or subscription",
        arguments: [
            ([.deliveryStatus: 0], "", nil, nil), ([.deliveryStatus: 5, .playTime: 7], "", .autoRenewable, nil),
            ([:], "", nil, "--delivery-status"), ([.deliveryStatus: 6], "", nil, "--delivery-status: 0 to 5"),
            ([.deliveryStatus: 0, .lifetimeDollarsPurchased: 8], "", nil, "--lifetime-dollars-purchased: 0 to 7"),
            ([.deliveryStatus: 0, .refundPreference: 4], "", nil, "--refund-preference: 0 to 3"),
            ([.deliveryStatus: 0, .platform: 3], "", nil, "--platform: 0 to 2"),
            ([.deliveryStatus: 0], "nobody", nil, "--app-account-token"),
            ([.deliveryStatus: 0], "758883e8-151b-47b7-abd0-60c4d804c2f5", .consumable, nil),
            ([.deliveryStatus: 0], "", .nonConsumable, "consumables and auto-renewable"),
        ] as [([ConsumptionRequestV1.Field: Int64], String, ProductType?, String?)])
    func older(numbers: [ConsumptionRequestV1.Field: Int64], token: String, type: ProductType?, refusal: String?) {
        let request = ConsumptionRequestV1(appAccountToken: token, sampleContentProvided: true, numbers: numbers)
        do throws(InvalidOperation) {
            #expect(try request.checked(for: type).numbers == numbers && refusal == nil)
        } catch {
            #expect(refusal.map { error.reason.contains($0) } == true, "\(error)")
        }
    }

    @Test("The deadline is twelve hours after Apple's request")
    func deadline() throws {
        let deadline = ConsumptionDeadline(requestedAt: Timestamp(seconds: 1_795_262_400))
        try deadline.check(at: Timestamp(seconds: 1_795_262_400 + 43_200))
        #expect(
            throws: InvalidOperation(
                "Apple asked at 2026-11-21T12:00:00Z and waited until 2026-11-22T00:00:00Z",
                hint: "--late sends it anyway", kind: .deadline)
        ) { try deadline.check(at: Timestamp(seconds: 1_795_262_400 + 43_201)) }
    }
}
