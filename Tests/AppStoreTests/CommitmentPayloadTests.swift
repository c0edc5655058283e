import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeSimulator
import Testing

@Suite("Billing plans, commitments and Advanced Commerce")
struct CommitmentPayloadTests {
    private func transaction(_ json: String) throws -> TransactionPayload {
        try TransactionPayload(JSONObject(Array(json.utf8)))
    }

    private func renewal(_ json: String) throws -> RenewalPayload {
        try RenewalPayload(JSONObject(Array(json.utf8)))
    }

    @Test("Every new field of a transaction is read")
    func transactions() throws {
        let payload = try transaction(
            """
            {"billingPlanType":"MONTHLY","previousOriginalTransactionId":"7","advancedCommerceInfo":{"a" : [1.50]},\
            "commitmentInfo":{"billingPeriodNumber":5,"totalBillingPeriods":12,"commitmentExpiresDate":9,\
            "commitmentPrice":47880,"new":true}}
            """)
        #expect(payload.billingPlanType == "MONTHLY" && payload.previousOriginalTransactionId == "7")
        #expect(payload.advancedCommerceInfo == Array(#"{"a" : [1.50]}"#.utf8))
        var commitment = TransactionCommitment()
        commitment.billingPeriodNumber = 5
        commitment.totalBillingPeriods = 12
        commitment.commitmentExpiresDate = Timestamp(milliseconds: 9)
        commitment.commitmentPrice = 47_880
        #expect(payload.commitmentInfo == commitment)
        #expect(try transaction("{}").commitmentInfo == nil)
        #expect(try transaction(#"{"commitmentInfo":null,"advancedCommerceInfo":null}"#).advancedCommerceInfo == nil)
        #expect(try transaction(#"{"commitmentInfo":{}}"#).commitmentInfo == TransactionCommitment())
    }

    @Test("Every new field of a renewal is read")
    func renewals() throws {
        let payload = try renewal(
            """
            {"renewalBillingPlanType":"BILLED_UPFRONT","advancedCommerceInfo":{},"commitmentInfo":\
            {"commitmentAutoRenewProductId":"year","commitmentAutoRenewStatus":0,\
            "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":9,"commitmentRenewalPrice":1}}
            """)
        #expect(payload.renewalBillingPlanType == "BILLED_UPFRONT" && payload.advancedCommerceInfo == Array("{}".utf8))
        var commitment = RenewalCommitment()
        commitment.commitmentAutoRenewProductId = "year"
        commitment.commitmentAutoRenewStatus = 0
        commitment.commitmentRenewalBillingPlanType = "MONTHLY"
        commitment.commitmentRenewalDate = Timestamp(milliseconds: 9)
        commitment.commitmentRenewalPrice = 1
        #expect(payload.commitmentInfo == commitment)
    }

    @Test("The payloads of a simulated App Store with the newest fields are read, and no value is lost")
    func simulated() throws {
        let world = World(seed: 7, customers: 0, epoch: Shared.noon, options: .init(newestFields: true))
        var plans: Set<String> = []
        var (commitments, commerce, migrated) = (0, 0, 0)
        for customer in world.customers {
            for row in customer.transactions {
                let claims = row.row(customer.environment, signedDate: Shared.noon)
                let payload = try TransactionPayload(JSONObject(claims.bytes))
                plans.formUnion([payload.billingPlanType].compactMap(\.self))
                commitments += payload.commitmentInfo == nil ? 0 : 1
                commerce += payload.advancedCommerceInfo == nil ? 0 : 1
                migrated += payload.previousOriginalTransactionId == nil ? 0 : 1
                #expect(payload.advancedCommerceInfo == claims["advancedCommerceInfo"]?.bytes)
                #expect(
                    payload.commitmentInfo?.commitmentPrice == claims["commitmentInfo"]?["commitmentPrice"]?.integer)
            }
        }
        #expect(plans == ["MONTHLY", "BILLED_UPFRONT"] && commitments > 0 && commerce > 0 && migrated > 0)
    }

    @Test(
        "The errors of notification history, Set App Account Token and Get App Transaction Info have words",
        arguments: [4_000_013, 4_000_014, 4_000_017, 4_000_183, 4_000_187, 4_040_019] as [Int64])
    func words(number: Int64) { #expect(ServerAPIErrorNumber(rawValue: number).meaning?.isEmpty == false) }
}
