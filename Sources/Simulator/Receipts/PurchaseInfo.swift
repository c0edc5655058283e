import Base

/// Writes the signed lines (`purchase-info`) of transactionReceipts: keys with hyphens, text values, and a different
/// order in each receipt.
enum PurchaseInfo {
    typealias Entry = TransactionReceiptEncoder.Entry

    /// Returns the lines of a planned receipt. The same plan always gives the same lines in the same order.
    static func entries(_ plan: ReceiptPlan, of customer: SimulatedCustomer) -> [Entry] {
        guard let id = plan.transactionIds.first, let transaction = customer.transaction(id) else { return [] }
        var random = SplitMix64(seed: plan.seed)
        return random.shuffled(
            purchase(transaction, called: id) + device(plan, customer)
                + subscription(transaction, version: plan.version)
                + (plan.version == 2 ? [] : newer(transaction)))
    }

    private static func purchase(_ transaction: SimulatedTransaction, called id: String) -> [Entry] {
        [
            Entry("transaction-id", id),
            Entry("original-transaction-id", transaction.originalTransactionId),
            Entry("product-id", transaction.product.productId),
            Entry("quantity", String(transaction.quantity)),
            Entry("bid", SimulatedApp.first.bundleId),
            Entry("item-id", String(transaction.product.itemId)),
        ] + dates("purchase-date", transaction.purchaseDate)
            + dates("original-purchase-date", transaction.originalPurchaseDate)
    }

    /// Returns identifiers of the app and of the device. A device of 2014 had a UDID with 40 digits.
    private static func device(_ plan: ReceiptPlan, _ customer: SimulatedCustomer) -> [Entry] {
        let digits = customer.vendorIdentifier.replacing("-", with: "")
        var entries = [
            Entry("bvrs", "42"),
            Entry("unique-vendor-identifier", customer.vendorIdentifier),
            Entry(
                "unique-identifier",
                plan.version == 2
                    ? digits.lowercased() + digits.lowercased().prefix(8) : "00008020-\(digits.prefix(16))"),
        ]
        if customer.environment == .production {
            entries.append(Entry("app-item-id", String(SimulatedApp.first.appAppleId)))
            entries.append(Entry("version-external-identifier", "860000001"))
        }
        return entries
    }

    /// Returns the lines about the period. Here `expires-date` is in milliseconds; the formatted dates have other
    /// keys.
    private static func subscription(_ transaction: SimulatedTransaction, version: UInt8?) -> [Entry] {
        guard let expires = transaction.expiresDate else { return [] }
        var entries = [
            Entry("expires-date", String(expires.milliseconds)),
            Entry("expires-date-formatted", expires.greenwichText),
            Entry("expires-date-formatted-pst", expires.losAngelesText),
        ]
        if let lineItem = transaction.webOrderLineItemId { entries.append(Entry("web-order-line-item-id", lineItem)) }
        if version != 2, !transaction.isFamilyShared, let group = transaction.product.group {
            entries.append(Entry("subscription-group-identifier", group))
        }
        return entries
    }

    /// Returns the lines that version 2 does not have.
    private static func newer(_ transaction: SimulatedTransaction) -> [Entry] {
        [
            Entry("is-trial-period", transaction.isTrialPeriod ? "true" : "false"),
            Entry("is-in-intro-offer-period", transaction.isInIntroOfferPeriod ? "true" : "false"),
            Entry("in-app-ownership-type", transaction.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"),
        ]
    }

    /// Returns the three lines of a date, for example `purchase-date`, `purchase-date-ms` and `purchase-date-pst`.
    private static func dates(_ stem: String, _ instant: Timestamp) -> [Entry] {
        [
            Entry(stem, instant.greenwichText), Entry("\(stem)-ms", String(instant.milliseconds)),
            Entry("\(stem)-pst", instant.losAngelesText),
        ]
    }
}
