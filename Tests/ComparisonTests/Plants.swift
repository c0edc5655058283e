import Comparison
import Foundation

/// A difference put where one rule must find it, and no other.
struct Plant: Sendable {
    let rule: String
    let verdict: ComparisonRule.Class
    let change: @Sendable (inout Scene) -> Void

    init(
        _ rule: String, _ verdict: ComparisonRule.Class = .expected, _ change: @escaping @Sendable (inout Scene) -> Void
    ) {
        self.rule = rule
        self.verdict = verdict
        self.change = change
    }

    static var all: [Plant] { unexpected + apps + values + rows + renewals }

    private static let unexpected = [
        Plant("signature", .unexpected) { $0.top["status"] = 21003 },
        Plant("signature", .unexpected) { $0.context.isAuthentic = false },
        Plant("bundleId", .unexpected) { $0.receipt["bundle_id"] = "com.example.other" },
        Plant("bundleId", .unexpected) { $0.history[2]["bundleId"] = "com.example.other" },
        Plant("environment", .unexpected) { $0.top["environment"] = "Sandbox" },
        Plant("appAppleId", .unexpected) {
            $0.receipt["adam_id"] = 99
            $0.receipt["app_item_id"] = 99
        },
        Plant("productId", .unexpected) { $0.latest[1]["product_id"] = "yearly" },
        Plant("originalTransactionId", .unexpected) { $0.latest[0]["original_transaction_id"] = "777" },
        Plant("originalTransactionId", .unexpected) { $0.snapshot[0]["original_transaction_id"] = "777" },
        Plant("ownership", .unexpected) { $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED" },
        Plant("cancellationReason", .unexpected) {
            $0.latest[2].merge(["cancellation_date_ms": "1790000000000", "cancellation_reason": "0"]) { $1 }
            $0.history[2].merge(["revocationDate": 1_790_000_000_000, "revocationReason": 1]) { $1 }
        },
        Plant("cancellation", .unexpected) { $0.latest[2]["cancellation_date_ms"] = "1790000000000" },
        Plant("cancellation", .unexpected) { $0.history[1]["revocationDate"] = 1_790_000_000_000 },
        Plant("expiresDate", .unexpected) { $0.latest[1]["expires_date_ms"] = "\(Scene.now + 25 * Scene.day)" },
        Plant("missingTransaction", .unexpected) { $0.latest.remove(at: 0) },
        Plant("missingTransaction", .unexpected) { $0.history.remove(at: 2) },
        Plant("missingTransaction", .unexpected) {
            $0.history[0]["revocationDate"] = 1_790_000_000_000
            $0.latest.remove(at: 0)
            $0.snapshot = []
        },
        Plant("missingTransaction", .unexpected) {
            $0.context.excludesOldTransactions = true
            $0.history.append(Scene.period("102", start: Scene.now - Scene.day).row)
        },
        Plant("autoRenewStatus", .unexpected) { $0.renewals[0]["auto_renew_status"] = "0" },
        Plant("autoRenewProductId", .unexpected) { $0.renewals[0]["auto_renew_product_id"] = "yearly" },
        Plant("entitlement", .unexpected) { $0.status = 2 },
        Plant("entitlement", .unexpected) { $0.status = 5 },
        Plant("unexplained", .unexpected) { $0.latest[1]["quantity"] = "2" },
        Plant("unexplained", .unexpected) { $0.latest[0]["is_upgraded"] = "true" },
        Plant("unexplained", .unexpected) { $0.latest[1]["unheard_of"] = ["a": 1] },
        Plant("unexplained", .unexpected) { $0.top["unheard_of"] = 1 },
        Plant("unexplained", .unexpected) { $0.top["status"] = 21010 },
    ]

    private static let apps = [
        Plant("sandboxAppId") {
            $0.moveToSandbox()
            $0.receipt.merge(["adam_id": 0, "app_item_id": 0]) { $1 }
            $0.envelope["appAppleId"] = nil
        },
        Plant("requestDate") {
            $0.otherAnswer = $0.answer
            $0.receipt["request_date_ms"] = "\(Scene.now - 60_000)"
        },
        Plant("latestReceiptEcho") {
            $0.otherAnswer = $0.answer
            $0.top["latest_receipt"] = "REVG"
        },
    ]

    private static let values = [
        Plant("wholeSeconds") { $0.history[1]["purchaseDate"] = Scene.now - 10 * Scene.day + 123 },
        Plant("restoredIdentifier") { $0.latest[1]["transaction_id"] = "999" },
        Plant("restoredIdentifier") {
            $0.latest[2]["transaction_id"] = "999"
            $0.history[2]["purchaseDate"] = Scene.now - 20 * Scene.day + 900
            $0.latest[2]["purchase_date_ms"] = "\(Scene.now - 20 * Scene.day + 900)"
        },
        Plant("originalIdAlias") { $0.history[1]["originalTransactionId"] = "777" },
        Plant("originalPurchaseClock") {
            $0.latest[1]["original_purchase_date_ms"] = "\(Scene.now - 40 * Scene.day + 1_500)"
        },
        Plant("sandboxOriginalPurchase") {
            $0.moveToSandbox()
            $0.latest[1]["original_purchase_date_ms"] = "\(Scene.now - 10 * Scene.day)"
        },
        Plant("familySharedGroup") {
            $0.latest[1]["in_app_ownership_type"] = "FAMILY_SHARED"
            $0.history[1]["inAppOwnershipType"] = "FAMILY_SHARED"
            $0.latest[1]["subscription_group_identifier"] = nil
        },
        Plant("tokenCase") {
            $0.latest[1]["app_account_token"] = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
            $0.history[1]["appAccountToken"] = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        },
        Plant("applicationUsername") { $0.latest[1]["app_account_token"] = "bob" },
        Plant("revocationDrift") {
            $0.latest[2]["cancellation_date_ms"] = "1790000000000"
            $0.history[2]["revocationDate"] = 1_790_086_400_000
        },
        Plant("refundedConsumable") {
            $0.add(Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day))
            $0.history[3]["revocationDate"] = Scene.now - 1_000
        },
        Plant("upgradedWithoutRevocation") {
            $0.latest[0].merge(["is_upgraded": "true", "cancellation_date_ms": "\(Scene.now - 12 * Scene.day)"]) { $1 }
            $0.history[0]["isUpgraded"] = true
        },
        Plant("sandboxUpgrade") {
            $0.moveToSandbox()
            $0.history[0]["isUpgraded"] = true
        },
        Plant("inAppSnapshot") { $0.snapshot[0]["expires_date_ms"] = "\(Scene.now - 11 * Scene.day)" },
        Plant("offerCodeName") {
            $0.latest[1]["offer_code_ref_name"] = "Spring sale"
            $0.history[1].merge(
                ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO"]
            ) { $1 }
        },
        Plant("introductoryUndecided") { $0.history[1]["offerType"] = 1 },
    ]

    private static let rows = [
        Plant("order") { $0.latest.reverse() },
        Plant("duplicates") { $0.history.append($0.history[0]) },
        Plant("finishedConsumables") {
            $0.history.append(Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day).row)
        },
        Plant("finishedConsumables") {
            var answer = $0.answer
            let coins = Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day)
            answer["latest_receipt_info"] = $0.latest + [coins.wire]
            $0.otherAnswer = answer
            $0.context.consumables = ["300"]
        },
        Plant("unfinishedConsumable", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day).wire)
            $0.context.consumables = ["300"]
        },
        Plant("missingTransaction", .unexpected) {
            $0.otherAnswer = $0.answer
            $0.latest.append(Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day).wire)
            $0.context.consumables = ["299"]
        },
        Plant("refundedPurchase") {
            var row = Scene.purchase("301", of: "skin", "Non-Consumable", at: Scene.now - Scene.day).row
            row["revocationDate"] = Scene.now - 1_000
            $0.history.append(row)
        },
        Plant("excludedOld") {
            $0.context.excludesOldTransactions = true
            $0.latest.remove(at: 0)
        },
        Plant("capOf100") { scene in
            for index in 0..<98 {
                scene.add(
                    Scene.purchase(
                        "\(1_000 + index)", of: "issue", "Non-Consumable",
                        at: Scene.now - 9 * Scene.day + Int64(index) * 60_000))
            }
            scene.latest.remove(at: 0)
        },
        Plant("emptyLatestReceiptInfo") {
            $0.latest = []
            $0.renewals = []
        },
        Plant("historyV1") {
            $0.historyVersion = 1
            $0.latest.append(Scene.purchase("300", of: "coins", "Consumable", at: Scene.now - Scene.day).wire)
        },
        Plant("recentPurchase") {
            $0.latest.append(Scene.purchase("300", of: "unlock2", "Non-Consumable", at: Scene.now - 60_000).wire)
        },
        Plant("sandboxCleared") {
            $0.moveToSandbox()
            $0.history = []
            $0.renewalInfo = []
        },
        Plant("sandboxRepurchase") {
            $0.moveToSandbox()
            $0.latest.append(Scene.purchase("201", of: "unlock", "Non-Consumable", at: Scene.now - Scene.day).wire)
        },
        Plant("sandboxPurge") {
            $0.moveToSandbox()
            $0.latest.remove(at: 0)
        },
        Plant("flatAnswer") { scene in
            scene.receipt = [
                "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": "200",
                "original_transaction_id": "200", "product_id": "unlock", "quantity": "1",
                "purchase_date_ms": "\(Scene.now - 20 * Scene.day)",
                "original_purchase_date_ms": "\(Scene.now - 20 * Scene.day)", "bvrs": "3", "item_id": "7",
                "is_trial_period": "false", "in_app_ownership_type": "PURCHASED",
            ]
            scene.isFlat = true
        },
        Plant("itemIdOfOtherProduct") { scene in
            func row(_ id: String, of product: String, start: Int64) -> Scene.Object {
                [
                    "bid": "com.example.app", "app_item_id": "1234567890", "transaction_id": id,
                    "original_transaction_id": "100", "product_id": product, "quantity": "1", "item_id": "7",
                    "purchase_date_ms": "\(start)", "original_purchase_date_ms": "\(Scene.now - 40 * Scene.day)",
                    "expires_date": "\(start + 30 * Scene.day)", "bvrs": "3",
                ]
            }
            scene.isFlat = true
            scene.receipt = row("100", of: "monthly", start: Scene.now - 40 * Scene.day)
            scene.flatLatest = row("101", of: "yearly", start: Scene.now - 10 * Scene.day)
            var other = scene
            other.flatLatest?["item_id"] = nil
            scene.otherAnswer = other.answer
        },
    ]

    private static let renewals = [
        Plant("retryZero") { $0.renewals[0]["is_in_billing_retry_period"] = "0" },
        Plant("priceConsent") {
            $0.renewals[0]["price_increase_status"] = "1"
            $0.renewalInfo[0]["priceIncreaseStatus"] = 1
        },
        Plant("recentExpiry") {
            $0.status = 2
            $0.latest[1]["expires_date_ms"] = "\(Scene.now + 60_000)"
            $0.history[1]["expiresDate"] = Scene.now + 60_000
        },
        Plant("renewalMoved") {
            $0.context.apart = 120_000
            $0.renewals[0]["auto_renew_status"] = "0"
        },
    ]
}
