import AppStoreReceiptsTesting
import ReceiptBridgeBase

/// Writes the signed lines (`purchase-info`) of transactionReceipts: keys with hyphens, text values, and a different
/// order in each receipt.
enum PurchaseInfo {
    /// Returns the lines of a planned receipt. The same plan always gives the same lines in the same order.
    static func entries(_ plan: ReceiptPlan, of customer: SimulatedCustomer) -> [TransactionReceiptEncoder.Entry] {
        guard let id = plan.transactionIds.first, let transaction = customer.transaction(id) else { return [] }
        let (bought, firstBought) = (transaction.purchaseDate, transaction.originalPurchaseDate)
        let expires = transaction.expiresDate
        let isProduction = customer.environment == .production
        let isVersion2 = plan.version == 2
        let digits = customer.vendorIdentifier.replacing("-", with: "")
        // A device of 2014 had a UDID with 40 digits.
        let device: String =
            isVersion2 ? digits.lowercased() + digits.lowercased().prefix(8) : "00008020-\(digits.prefix(16))"
        let lines: KeyValuePairs<String, String?> = [
            "transaction-id": id, "original-transaction-id": transaction.originalTransactionId,
            "product-id": transaction.product.productId, "quantity": String(transaction.quantity),
            "bid": SimulatedApp.first.bundleId, "item-id": String(transaction.product.itemId),
            "purchase-date": bought.greenwichText, "purchase-date-ms": String(bought.milliseconds),
            "purchase-date-pst": bought.losAngelesText, "original-purchase-date": firstBought.greenwichText,
            "original-purchase-date-ms": String(firstBought.milliseconds),
            "original-purchase-date-pst": firstBought.losAngelesText, "bvrs": "42",
            "unique-vendor-identifier": customer.vendorIdentifier, "unique-identifier": device,
            "app-item-id": isProduction ? String(SimulatedApp.first.appAppleId) : nil,
            "version-external-identifier": isProduction ? "860000001" : nil,
            // In milliseconds; the formatted dates have other keys.
            "expires-date": (expires?.milliseconds).map { String($0) },
            "expires-date-formatted": expires?.greenwichText, "expires-date-formatted-pst": expires?.losAngelesText,
            "web-order-line-item-id": transaction.webOrderLineItemId,
            "subscription-group-identifier":
                isVersion2 || transaction.isFamilyShared ? nil : transaction.product.group,
            // Version 2 does not have the rest.
            "is-trial-period": isVersion2 ? nil : AnswerRowWriter.flag(transaction.isTrialPeriod),
            "is-in-intro-offer-period": isVersion2 ? nil : AnswerRowWriter.flag(transaction.isInIntroOfferPeriod),
            "in-app-ownership-type": isVersion2 ? nil : transaction.ownership,
        ]
        var random = SplitMix64(seed: plan.seed)
        return random.shuffled(
            lines.compactMap { line in line.value.map { TransactionReceiptEncoder.Entry(line.key, $0) } })
    }
}
