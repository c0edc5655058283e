import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import Foundation

/// A planted difference that exactly one rule must match.
struct PlantedDifference: Sendable {
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

    private static let unexpected = [
        PlantedDifference("signature", .unexpected) { $0.top["status"] = 21003 },
        PlantedDifference("signature", .unexpected) { $0.context.isAuthentic = false },
        PlantedDifference("bundleId", .unexpected) { $0.receipt["bundle_id"] = "com.example.other" },
        PlantedDifference("bundleId", .unexpected) { $0.history[2]["bundleId"] = "com.example.other" },
        PlantedDifference("environment", .unexpected) { $0.top["environment"] = "Sandbox" },
        PlantedDifference("appAppleId", .unexpected) {
            $0.receipt["adam_id"] = 99
            $0.receipt["app_item_id"] = 99
        },
        PlantedDifference("productId", .unexpected) { $0.latest[1]["product_id"] = "yearly" },
        PlantedDifference("originalTransactionId", .unexpected) { $0.latest[0]["original_transaction_id"] = "777" },
        PlantedDifference("originalTransactionId", .unexpected) { $0.snapshot[0]["original_transaction_id"] = "777" },
        PlantedDifference("ownership", .unexpected) { $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED" },
        PlantedDifference("cancellationReason", .unexpected) {
            $0.latest[2].merge(["cancellation_date_ms": "1790000000000", "cancellation_reason": "0"]) { $1 }
            $0.history[2].merge(["revocationDate": 1_790_000_000_000, "revocationReason": 1]) { $1 }
        },
        PlantedDifference("cancellation", .unexpected) { $0.latest[2]["cancellation_date_ms"] = "1790000000000" },
        PlantedDifference("cancellation", .unexpected) { $0.history[1]["revocationDate"] = 1_790_000_000_000 },
        PlantedDifference("expiresDate", .unexpected) {
            $0.latest[1]["expires_date_ms"] = "\(ComparisonFixture.now + 25 * ComparisonFixture.day)"
        },
        PlantedDifference("missingTransaction", .unexpected) { $0.latest.remove(at: 0) },
        PlantedDifference("missingTransaction", .unexpected) { $0.history.remove(at: 2) },
        PlantedDifference("missingTransaction", .unexpected) {
            $0.history[0]["revocationDate"] = 1_790_000_000_000
            $0.latest.remove(at: 0)
            $0.snapshot = []
        },
        PlantedDifference("missingTransaction", .unexpected) {
            $0.context.excludesOldTransactions = true
            $0.history.append(ComparisonFixture.period("102", start: ComparisonFixture.now - ComparisonFixture.day).row)
        },
        PlantedDifference("autoRenewStatus", .unexpected) { $0.renewals[0]["auto_renew_status"] = "0" },
        PlantedDifference("autoRenewProductId", .unexpected) { $0.renewals[0]["auto_renew_product_id"] = "yearly" },
        PlantedDifference("entitlement", .unexpected) { $0.status = 2 },
        PlantedDifference("entitlement", .unexpected) { $0.status = 5 },
        PlantedDifference("unexplained", .unexpected) { $0.latest[1]["quantity"] = "2" },
        PlantedDifference("unexplained", .unexpected) { $0.latest[0]["is_upgraded"] = "true" },
        PlantedDifference("unexplained", .unexpected) { $0.latest[1]["unheard_of"] = ["a": 1] },
        PlantedDifference("unexplained", .unexpected) { $0.top["unheard_of"] = 1 },
        PlantedDifference("unexplained", .unexpected) { $0.top["status"] = 21010 },
    ]

    private static let newestFields = [
        PlantedDifference("billingPlan") { $0.history[1]["billingPlanType"] = "MONTHLY" },
        PlantedDifference("billingPlan") {
            $0.history[1]["commitmentInfo"] = ["commitmentExpiresDate": ComparisonFixture.now]
        },
        PlantedDifference("billingPlan") { $0.renewalInfo[0]["renewalBillingPlanType"] = "MONTHLY" },
        PlantedDifference("billingPlan") {
            $0.renewalInfo[0]["commitmentInfo"] = ["commitmentRenewalDate": ComparisonFixture.now]
        },
        PlantedDifference("migratedSubscription") { $0.history[1]["previousOriginalTransactionId"] = "7" },
        PlantedDifference("advancedCommerce") { $0.history[0]["advancedCommerceInfo"] = ["taxCode": "C003"] },
        PlantedDifference("advancedCommerce") { $0.renewalInfo[0]["advancedCommerceInfo"] = [:] as [String: String] },
        // A key that verifyReceipt has never had is reported, whatever its name.
        PlantedDifference("unexplained", .unexpected) { $0.latest[1]["billing_plan_type"] = "MONTHLY" },
    ]

    private static let apps = [
        PlantedDifference("sandboxAppId") {
            $0.moveToSandbox()
            $0.receipt.merge(["adam_id": 0, "app_item_id": 0]) { $1 }
            $0.envelope["appAppleId"] = nil
        },
        PlantedDifference("requestDate", .unexpected) {
            $0.context.overrides = ["requestDate": .unexpected]
            $0.otherAnswer = $0.answer
            $0.receipt["request_date_ms"] = "\(ComparisonFixture.now - 60_000)"
        },
        PlantedDifference("latestReceiptEcho", .unexpected) {
            $0.context.overrides = ["latestReceiptEcho": .unexpected]
            $0.otherAnswer = $0.answer
            $0.top["latest_receipt"] = "REVG"
        },
        PlantedDifference("latestReceiptEcho", .unexpected) {
            $0.context.overrides = ["latestReceiptEcho": .unexpected]
            $0.otherAnswer = $0.answer
            $0.top["latest_expired_receipt"] = "REVG"
        },
    ]

    private static let values = [
        PlantedDifference("wholeSeconds") {
            $0.history[1]["purchaseDate"] = ComparisonFixture.now - 10 * ComparisonFixture.day + 123
        },
        PlantedDifference("restoredIdentifier") { $0.latest[1]["transaction_id"] = "999" },
        PlantedDifference("restoredIdentifier") {
            $0.latest[2]["transaction_id"] = "999"
            $0.history[2]["purchaseDate"] = ComparisonFixture.now - 20 * ComparisonFixture.day + 900
            $0.latest[2]["purchase_date_ms"] = "\(ComparisonFixture.now - 20 * ComparisonFixture.day + 900)"
        },
        PlantedDifference("originalIdAlias") { $0.history[1]["originalTransactionId"] = "777" },
        PlantedDifference("originalPurchaseClock") {
            $0.latest[1]["original_purchase_date_ms"] = "\(ComparisonFixture.now - 40 * ComparisonFixture.day + 1_500)"
        },
        PlantedDifference("sandboxOriginalPurchase") {
            $0.moveToSandbox()
            $0.latest[1]["original_purchase_date_ms"] = "\(ComparisonFixture.now - 10 * ComparisonFixture.day)"
        },
        PlantedDifference("familySharedGroup") {
            $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED"
            $0.history[1]["inAppOwnershipType"] = "FAMILY_SHARED"
            $0.latest[1]["subscription_group_identifier"] = nil
        },
        PlantedDifference("tokenCase") {
            $0.latest[1]["app_account_token"] = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
            $0.history[1]["appAccountToken"] = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        },
        PlantedDifference("applicationUsername") { $0.latest[1]["app_account_token"] = "bob" },
        PlantedDifference("revocationDrift") {
            $0.latest[2]["cancellation_date_ms"] = "1790000000000"
            $0.history[2]["revocationDate"] = 1_790_086_400_000
        },
        PlantedDifference("refundedConsumable") {
            $0.add(
                ComparisonFixture.purchase(
                    "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day))
            $0.history[3]["revocationDate"] = ComparisonFixture.now - 1_000
        },
        PlantedDifference("upgradedWithoutRevocation") {
            $0.latest[0].merge([
                "is_upgraded": "true", "cancellation_date_ms": "\(ComparisonFixture.now - 12 * ComparisonFixture.day)",
            ]) { $1 }
            $0.history[0]["isUpgraded"] = true
        },
        PlantedDifference("sandboxUpgrade") {
            $0.moveToSandbox()
            $0.history[0]["isUpgraded"] = true
        },
        PlantedDifference("inAppSnapshot") {
            $0.snapshot[0]["expires_date_ms"] = "\(ComparisonFixture.now - 11 * ComparisonFixture.day)"
        },
        PlantedDifference("offerCodeName") {
            $0.latest[1]["offer_code_ref_name"] = "Spring sale"
            $0.history[1].merge(
                ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO"]
            ) { $1 }
        },
        PlantedDifference("introductoryUndecided") { $0.history[1]["offerType"] = 1 },
        PlantedDifference("offerCodeUUID") {
            $0.latest[1].merge([
                "offer_code_ref_name": "spring", "promotional_offer_id": "2f1e0d9c-8b7a-4c5d-9e6f-0a1b2c3d4e5f",
            ]) { $1 }
            $0.history[1].merge(
                ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO"]
            ) { $1 }
        },
        // A purchase of 2024-08-25.
        PlantedDifference("trialFlagChange") {
            $0.add(ComparisonFixture.trial("090", start: 1_724_544_000_000, flags: ["true", "true"]))
        },
    ]

    private static let rows = [
        PlantedDifference("order", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.reverse()
        },
        PlantedDifference("order", .unexpected) {
            let other: ComparisonFixture.Object = ["original_transaction_id": "200", "product_id": "yearly"]
            $0.renewals.append(other)
            $0.otherAnswer = $0.answer
            $0.renewals.reverse()
        },
        PlantedDifference("innerOrder") {
            $0.add(
                ComparisonFixture.purchase(
                    "300", of: "extra", "Non-Consumable", at: ComparisonFixture.now - ComparisonFixture.day))
            $0.otherAnswer = $0.answer
            $0.latest.swapAt(1, 2)
        },
        PlantedDifference("duplicates") { $0.history.append($0.history[0]) },
        PlantedDifference("finishedConsumables") {
            $0.history.append(
                ComparisonFixture.purchase(
                    "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day
                ).row)
        },
        PlantedDifference("finishedConsumables") {
            var answer = $0.answer
            let coins = ComparisonFixture.purchase(
                "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day)
            answer["latest_receipt_info"] = $0.latest + [coins.wire]
            $0.otherAnswer = answer
            $0.context.consumables.all = ["300"]
        },
        PlantedDifference("refundedConsumable") {
            $0.otherAnswer = $0.answer
            let coins = ComparisonFixture.purchase(
                "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day)
            $0.snapshot.append(coins.wire)
            $0.latest.append(coins.wire)
            $0.context.consumables = ConsumableIdentifiers(all: ["300"], refunded: ["300"])
        },
        // The receipt has nothing else, so the list of the other response is empty.
        PlantedDifference("refundedConsumable") {
            let coins = ComparisonFixture.purchase(
                "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day)
            $0.snapshot = []
            $0.latest = []
            $0.renewals = []
            $0.otherAnswer = $0.answer
            $0.snapshot = [coins.wire]
            $0.latest = [coins.wire]
            $0.context.consumables = ConsumableIdentifiers(all: ["300"], refunded: ["300"])
        },
        PlantedDifference("unfinishedConsumable", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(
                ComparisonFixture.purchase(
                    "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day
                ).wire)
            $0.context.consumables.all = ["300"]
        },
        PlantedDifference("missingTransaction", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(
                ComparisonFixture.purchase(
                    "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day
                ).wire)
            $0.context.consumables = ConsumableIdentifiers(all: ["299"], refunded: ["299"])
        },
        PlantedDifference("refundedPurchase") {
            var row = ComparisonFixture.purchase(
                "301", of: "skin", "Non-Consumable", at: ComparisonFixture.now - ComparisonFixture.day
            ).row
            row["revocationDate"] = ComparisonFixture.now - 1_000
            $0.history.append(row)
        },
        PlantedDifference("excludedOld") {
            $0.context.excludesOldTransactions = true
            $0.latest.remove(at: 0)
        },
        PlantedDifference("capOf100") { fixture in
            for index in 0..<98 {
                fixture.add(
                    ComparisonFixture.purchase(
                        "\(1_000 + index)", of: "issue", "Non-Consumable",
                        at: ComparisonFixture.now - 9 * ComparisonFixture.day + Int64(index) * 60_000))
            }
            fixture.latest.remove(at: 0)
        },
        PlantedDifference("emptyLatestReceiptInfo") {
            $0.latest = []
            $0.renewals = []
        },
        PlantedDifference("historyV1") {
            $0.historyVersion = 1
            $0.latest.append(
                ComparisonFixture.purchase(
                    "300", of: "coins", "Consumable", at: ComparisonFixture.now - ComparisonFixture.day
                ).wire)
        },
        PlantedDifference("recentPurchase") {
            $0.latest.append(
                ComparisonFixture.purchase("300", of: "unlock2", "Non-Consumable", at: ComparisonFixture.now - 60_000)
                    .wire)
        },
        PlantedDifference("sandboxCleared") {
            $0.moveToSandbox()
            $0.history = []
            $0.renewalInfo = []
        },
        PlantedDifference("sandboxRepurchase") {
            $0.moveToSandbox()
            $0.latest.append(
                ComparisonFixture.purchase(
                    "201", of: "unlock", "Non-Consumable", at: ComparisonFixture.now - ComparisonFixture.day
                ).wire)
        },
        PlantedDifference("sandboxPurge") {
            $0.moveToSandbox()
            $0.latest.remove(at: 0)
        },
        PlantedDifference("flatAnswer") { fixture in
            fixture.receipt = [
                "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": "200",
                "original_transaction_id": "200", "product_id": "unlock", "quantity": "1",
                "purchase_date_ms": "\(ComparisonFixture.now - 20 * ComparisonFixture.day)",
                "original_purchase_date_ms": "\(ComparisonFixture.now - 20 * ComparisonFixture.day)", "bvrs": "3",
                "item_id": "7",
                "is_trial_period": "false", "in_app_ownership_type": "PURCHASED",
            ]
            fixture.isFlat = true
        },
        PlantedDifference("itemIdOfOtherProduct") { fixture in
            func row(_ id: String, of product: String, start: Int64) -> ComparisonFixture.Object {
                [
                    "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": id,
                    "original_transaction_id": "100", "product_id": product, "quantity": "1", "item_id": "7",
                    "purchase_date_ms": "\(start)",
                    "original_purchase_date_ms": "\(ComparisonFixture.now - 40 * ComparisonFixture.day)",
                    "expires_date": "\(start + 30 * ComparisonFixture.day)", "bvrs": "3",
                ]
            }
            fixture.isFlat = true
            fixture.receipt = row("100", of: "monthly", start: ComparisonFixture.now - 40 * ComparisonFixture.day)
            fixture.flatLatest = row("101", of: "yearly", start: ComparisonFixture.now - 10 * ComparisonFixture.day)
            var other = fixture
            other.flatLatest?["item_id"] = nil
            fixture.otherAnswer = other.answer
        },
    ]

    private static let withoutSubscription = [
        PlantedDifference("latestWithoutSubscription", .unexpected) {
            $0.removeSubscription()
            $0.hasLatest = false
            $0.otherAnswer = $0.answer
            $0.hasLatest = true
        },
        PlantedDifference("latestWithoutSubscription") {
            $0.removeSubscription()
            $0.otherAnswer = $0.answer
            $0.hasLatest = false
        },
        // With a list on both sides, each row counts.
        PlantedDifference("missingTransaction", .unexpected) {
            $0.removeSubscription()
            $0.otherAnswer = $0.answer.merging(["latest_receipt_info": [] as [String]]) { $1 }
        },
        PlantedDifference("flatRefund") {
            $0.isFlat = true
            $0.receipt = [
                "bid": "com.example.app", "transaction_id": "200", "product_id": "unlock",
                "cancellation_date_ms": "\(ComparisonFixture.now)",
            ]
            var other = $0
            other.receipt["cancellation_reason"] = "0"
            $0.otherAnswer = other.answer.merging([
                "cancellation_date": "2026-11-20 12:00:00 Etc/GMT", "cancellation_reason": "0",
            ]) { $1 }
        },
    ]

    private static let renewals = [
        PlantedDifference("retryZero") { $0.renewals[0]["is_in_billing_retry_period"] = "0" },
        PlantedDifference("priceConsent") {
            $0.renewals[0]["price_increase_status"] = "1"
            $0.renewalInfo[0]["priceIncreaseStatus"] = 1
        },
        PlantedDifference("recentExpiry") {
            $0.status = 2
            $0.latest[1]["expires_date_ms"] = "\(ComparisonFixture.now + 60_000)"
            $0.history[1]["expiresDate"] = ComparisonFixture.now + 60_000
        },
        PlantedDifference("renewalMoved") {
            $0.context.timeDifference = 120_000
            $0.renewals[0]["auto_renew_status"] = "0"
        },
    ]
}
