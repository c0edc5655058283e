import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import Foundation

/// A planted difference that exactly one rule must match.
struct PlantedDifference: Sendable {
    private typealias Fixture = ComparisonFixture

    let rule: String
    let verdict: ComparisonRule.Class
    let change: @Sendable (inout ComparisonFixture) -> Void

    init(
        _ rule: String, _ verdict: ComparisonRule.Class = .expected,
        _ change: @escaping @Sendable (inout ComparisonFixture) -> Void
    ) {
        self.rule = rule
        self.verdict = verdict
        self.change = change
    }

    static var all: [PlantedDifference] {
        unexpected + apps + newestFields + values + rows + withoutSubscription + renewals
    }

    private static let unexpected: [PlantedDifference] = [
        .init("signature", .unexpected) { $0.top["status"] = 21003 },
        .init("signature", .unexpected) { $0.context.isAuthentic = false },
        .init("bundleId", .unexpected) { $0.receipt["bundle_id"] = "com.example.other" },
        .init("bundleId", .unexpected) { $0.history[2]["bundleId"] = "com.example.other" },
        .init("environment", .unexpected) { $0.top["environment"] = "Sandbox" },
        .init("appAppleId", .unexpected) {
            $0.receipt["adam_id"] = 99
            $0.receipt["app_item_id"] = 99
        },
        .init("productId", .unexpected) { $0.latest[1]["product_id"] = "yearly" },
        .init("originalTransactionId", .unexpected) { $0.latest[0]["original_transaction_id"] = "777" },
        .init("originalTransactionId", .unexpected) { $0.snapshot[0]["original_transaction_id"] = "777" },
        .init("ownership", .unexpected) { $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED" },
        .init("cancellationReason", .unexpected) {
            $0.latest[2].merge(["cancellation_date_ms": "1790000000000", "cancellation_reason": "0"]) { $1 }
            $0.history[2].merge(["revocationDate": 1_790_000_000_000, "revocationReason": 1]) { $1 }
        },
        .init("cancellation", .unexpected) { $0.latest[2]["cancellation_date_ms"] = "1790000000000" },
        .init("cancellation", .unexpected) { $0.history[1]["revocationDate"] = 1_790_000_000_000 },
        .init("expiresDate", .unexpected) { $0.latest[1]["expires_date_ms"] = "\(Fixture.ago(-25))" },
        .init("missingTransaction", .unexpected) { $0.latest.remove(at: 0) },
        .init("missingTransaction", .unexpected) { $0.history.remove(at: 2) },
        .init("missingTransaction", .unexpected) {
            $0.history[0]["revocationDate"] = 1_790_000_000_000
            $0.latest.remove(at: 0)
            $0.snapshot = []
        },
        .init("missingTransaction", .unexpected) {
            $0.context.excludesOldTransactions = true
            $0.history.append(Fixture.period("102", start: Fixture.ago(1)).row)
        },
        .init("autoRenewStatus", .unexpected) { $0.renewals[0]["auto_renew_status"] = "0" },
        .init("autoRenewProductId", .unexpected) { $0.renewals[0]["auto_renew_product_id"] = "yearly" },
        .init("entitlement", .unexpected) { $0.status = 2 },
        .init("entitlement", .unexpected) { $0.status = 5 },
        .init("unexplained", .unexpected) { $0.latest[1]["quantity"] = "2" },
        .init("unexplained", .unexpected) { $0.latest[0]["is_upgraded"] = "true" },
        .init("unexplained", .unexpected) { $0.latest[1]["unheard_of"] = ["a": 1] },
        .init("unexplained", .unexpected) { $0.top["unheard_of"] = 1 },
        .init("unexplained", .unexpected) { $0.top["status"] = 21010 },
    ]

    private static let newestFields: [PlantedDifference] = [
        .init("billingPlan") { $0.history[1]["billingPlanType"] = "MONTHLY" },
        .init("billingPlan") { $0.history[1]["commitmentInfo"] = ["commitmentExpiresDate": Fixture.now] },
        .init("billingPlan") { $0.renewalInfo[0]["renewalBillingPlanType"] = "MONTHLY" },
        .init("billingPlan") { $0.renewalInfo[0]["commitmentInfo"] = ["commitmentRenewalDate": Fixture.now] },
        .init("migratedSubscription") { $0.history[1]["previousOriginalTransactionId"] = "7" },
        .init("advancedCommerce") { $0.history[0]["advancedCommerceInfo"] = ["taxCode": "C003"] },
        .init("advancedCommerce") { $0.renewalInfo[0]["advancedCommerceInfo"] = [:] as [String: String] },
        // A key that verifyReceipt has never had is reported, whatever its name.
        .init("unexplained", .unexpected) { $0.latest[1]["billing_plan_type"] = "MONTHLY" },
    ]

    private static let apps: [PlantedDifference] = [
        .init("sandboxAppId") {
            $0.moveToSandbox()
            $0.receipt.merge(["adam_id": 0, "app_item_id": 0]) { $1 }
            $0.envelope["appAppleId"] = nil
        },
        .init("requestDate", .unexpected) {
            $0.context.overrides = ["requestDate": .unexpected]
            $0.otherAnswer = $0.answer
            $0.receipt["request_date_ms"] = "\(Fixture.now - 60_000)"
        },
        .init("latestReceiptEcho", .unexpected) {
            $0.context.overrides = ["latestReceiptEcho": .unexpected]
            $0.otherAnswer = $0.answer
            $0.top["latest_receipt"] = "REVG"
        },
        .init("latestReceiptEcho", .unexpected) {
            $0.context.overrides = ["latestReceiptEcho": .unexpected]
            $0.otherAnswer = $0.answer
            $0.top["latest_expired_receipt"] = "REVG"
        },
    ]

    private static let values: [PlantedDifference] = [
        .init("wholeSeconds") { $0.history[1]["purchaseDate"] = Fixture.ago(10) + 123 },
        .init("restoredIdentifier") { $0.latest[1]["transaction_id"] = "999" },
        .init("restoredIdentifier") {
            $0.latest[2]["transaction_id"] = "999"
            $0.history[2]["purchaseDate"] = Fixture.ago(20) + 900
            $0.latest[2]["purchase_date_ms"] = "\(Fixture.ago(20) + 900)"
        },
        .init("originalIdAlias") { $0.history[1]["originalTransactionId"] = "777" },
        .init("originalPurchaseClock") { $0.latest[1]["original_purchase_date_ms"] = "\(Fixture.ago(40) + 1_500)" },
        .init("sandboxOriginalPurchase") {
            $0.moveToSandbox()
            $0.latest[1]["original_purchase_date_ms"] = "\(Fixture.ago(10))"
        },
        .init("familySharedGroup") {
            $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED"
            $0.history[1]["inAppOwnershipType"] = "FAMILY_SHARED"
            $0.latest[1]["subscription_group_identifier"] = nil
        },
        .init("tokenCase") {
            $0.latest[1]["app_account_token"] = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
            $0.history[1]["appAccountToken"] = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        },
        .init("applicationUsername") { $0.latest[1]["app_account_token"] = "bob" },
        .init("revocationDrift") {
            $0.latest[2]["cancellation_date_ms"] = "1790000000000"
            $0.history[2]["revocationDate"] = 1_790_086_400_000
        },
        .init("refundedConsumable") {
            $0.add(Fixture.coins)
            $0.history[3]["revocationDate"] = Fixture.now - 1_000
        },
        .init("upgradedWithoutRevocation") {
            $0.latest[0].merge(["is_upgraded": "true", "cancellation_date_ms": "\(Fixture.ago(12))"]) { $1 }
            $0.history[0]["isUpgraded"] = true
        },
        .init("sandboxUpgrade") {
            $0.moveToSandbox()
            $0.history[0]["isUpgraded"] = true
        },
        .init("inAppSnapshot") { $0.snapshot[0]["expires_date_ms"] = "\(Fixture.ago(11))" },
        .init("offerCodeName") {
            $0.latest[1]["offer_code_ref_name"] = "Spring sale"
            $0.history[1].merge(
                ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO"]
            ) { $1 }
        },
        .init("introductoryUndecided") { $0.history[1]["offerType"] = 1 },
        .init("offerCodeUUID") {
            $0.latest[1].merge([
                "offer_code_ref_name": "spring", "promotional_offer_id": "2f1e0d9c-8b7a-4c5d-9e6f-0a1b2c3d4e5f",
            ]) { $1 }
            $0.history[1].merge(
                ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO"]
            ) { $1 }
        },
        // A purchase of 2024-08-25.
        .init("trialFlagChange") { $0.add(Fixture.trial("090", start: 1_724_544_000_000, flags: ["true", "true"])) },
    ]

    private static let rows: [PlantedDifference] = [
        .init("order", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.reverse()
        },
        .init("order", .unexpected) {
            let other: Fixture.Object = ["original_transaction_id": "200", "product_id": "yearly"]
            $0.renewals.append(other)
            $0.otherAnswer = $0.answer
            $0.renewals.reverse()
        },
        .init("innerOrder") {
            $0.add(Fixture.purchase("300", of: "extra", "Non-Consumable", at: Fixture.ago(1)))
            $0.otherAnswer = $0.answer
            $0.latest.swapAt(1, 2)
        },
        .init("duplicates") { $0.history.append($0.history[0]) },
        .init("finishedConsumables") { $0.history.append(Fixture.coins.row) },
        .init("finishedConsumables") {
            var answer = $0.answer
            answer["latest_receipt_info"] = $0.latest + [Fixture.coins.wire]
            $0.otherAnswer = answer
            $0.context.consumables.all = ["300"]
        },
        .init("refundedConsumable") {
            $0.otherAnswer = $0.answer
            $0.snapshot.append(Fixture.coins.wire)
            $0.latest.append(Fixture.coins.wire)
            $0.context.consumables = ConsumableIdentifiers(all: ["300"], refunded: ["300"])
        },
        // The receipt has nothing else, so the list of the other response is empty.
        .init("refundedConsumable") {
            $0.snapshot = []
            $0.latest = []
            $0.renewals = []
            $0.otherAnswer = $0.answer
            $0.snapshot = [Fixture.coins.wire]
            $0.latest = [Fixture.coins.wire]
            $0.context.consumables = ConsumableIdentifiers(all: ["300"], refunded: ["300"])
        },
        .init("unfinishedConsumable", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(Fixture.coins.wire)
            $0.context.consumables.all = ["300"]
        },
        .init("missingTransaction", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(Fixture.coins.wire)
            $0.context.consumables = ConsumableIdentifiers(all: ["299"], refunded: ["299"])
        },
        .init("refundedPurchase") {
            var row = Fixture.purchase("301", of: "skin", "Non-Consumable", at: Fixture.ago(1)).row
            row["revocationDate"] = Fixture.now - 1_000
            $0.history.append(row)
        },
        .init("excludedOld") {
            $0.context.excludesOldTransactions = true
            $0.latest.remove(at: 0)
        },
        .init("capOf100") { fixture in
            for index in 0..<98 {
                fixture.add(
                    Fixture.purchase(
                        "\(1_000 + index)", of: "issue", "Non-Consumable",
                        at: Fixture.ago(9) + Int64(index) * 60_000))
            }
            fixture.latest.remove(at: 0)
        },
        .init("emptyLatestReceiptInfo") {
            $0.latest = []
            $0.renewals = []
        },
        .init("historyV1") {
            $0.historyVersion = 1
            $0.latest.append(Fixture.coins.wire)
        },
        .init("recentPurchase") {
            $0.latest.append(Fixture.purchase("300", of: "unlock2", "Non-Consumable", at: Fixture.now - 60_000).wire)
        },
        .init("sandboxCleared") {
            $0.moveToSandbox()
            $0.history = []
            $0.renewalInfo = []
        },
        .init("sandboxRepurchase") {
            $0.moveToSandbox()
            $0.latest.append(
                Fixture.purchase("201", of: "unlock", "Non-Consumable", at: Fixture.ago(1)).wire)
        },
        .init("sandboxPurge") {
            $0.moveToSandbox()
            $0.latest.remove(at: 0)
        },
        .init("flatAnswer") { fixture in
            fixture.receipt = [
                "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": "200",
                "original_transaction_id": "200", "product_id": "unlock", "quantity": "1",
                "purchase_date_ms": "\(Fixture.ago(20))",
                "original_purchase_date_ms": "\(Fixture.ago(20))", "bvrs": "3",
                "item_id": "7",
                "is_trial_period": "false", "in_app_ownership_type": "PURCHASED",
            ]
            fixture.isFlat = true
        },
        .init("itemIdOfOtherProduct") { fixture in
            func row(_ id: String, of product: String, start: Int64) -> Fixture.Object {
                [
                    "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": id,
                    "original_transaction_id": "100", "product_id": product, "quantity": "1", "item_id": "7",
                    "purchase_date_ms": "\(start)",
                    "original_purchase_date_ms": "\(Fixture.ago(40))",
                    "expires_date": "\(start + 30 * Fixture.day)", "bvrs": "3",
                ]
            }
            fixture.isFlat = true
            fixture.receipt = row("100", of: "monthly", start: Fixture.ago(40))
            fixture.flatLatest = row("101", of: "yearly", start: Fixture.ago(10))
            var other = fixture
            other.flatLatest?["item_id"] = nil
            fixture.otherAnswer = other.answer
        },
    ]

    private static let withoutSubscription: [PlantedDifference] = [
        .init("latestWithoutSubscription", .unexpected) {
            $0.removeSubscription()
            $0.hasLatest = false
            $0.otherAnswer = $0.answer
            $0.hasLatest = true
        },
        .init("latestWithoutSubscription") {
            $0.removeSubscription()
            $0.otherAnswer = $0.answer
            $0.hasLatest = false
        },
        // With a list on both sides, each row counts.
        .init("missingTransaction", .unexpected) {
            $0.removeSubscription()
            $0.otherAnswer = $0.answer.merging(["latest_receipt_info": [] as [String]]) { $1 }
        },
        .init("flatRefund") {
            $0.isFlat = true
            $0.receipt = [
                "bid": "com.example.app", "transaction_id": "200", "product_id": "unlock",
                "cancellation_date_ms": "\(Fixture.now)",
            ]
            var other = $0
            other.receipt["cancellation_reason"] = "0"
            $0.otherAnswer = other.answer.merging([
                "cancellation_date": "2026-11-20 12:00:00 Etc/GMT", "cancellation_reason": "0",
            ]) { $1 }
        },
    ]

    private static let renewals: [PlantedDifference] = [
        .init("retryZero") { $0.renewals[0]["is_in_billing_retry_period"] = "0" },
        .init("priceConsent") {
            $0.renewals[0]["price_increase_status"] = "1"
            $0.renewalInfo[0]["priceIncreaseStatus"] = 1
        },
        .init("recentExpiry") {
            $0.status = 2
            $0.latest[1]["expires_date_ms"] = "\(Fixture.now + 60_000)"
            $0.history[1]["expiresDate"] = Fixture.now + 60_000
        },
        .init("renewalMoved") {
            $0.context.timeDifference = 120_000
            $0.renewals[0]["auto_renew_status"] = "0"
        },
    ]
}
