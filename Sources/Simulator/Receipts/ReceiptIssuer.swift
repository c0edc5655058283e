package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
import AppStoreReceiptsTesting

/// A receipt that the simulated App Store has signed.
package struct IssuedReceipt: Sendable {
    package let plan: ReceiptPlan
    package let customer: SimulatedCustomer
    /// The listed transactions in the order of the receipt's attributes.
    package let transactions: [SimulatedTransaction]
    package let bytes: [UInt8]

    package var id: String { plan.id }
    package var base64: String { Base64.encode(bytes) }
    package var environment: AppStoreEnvironment { customer.environment }
    package var hasAutoRenewable: Bool { transactions.contains(where: \.isAutoRenewable) }

    /// Distinct, sorted as text.
    package var originalTransactionIds: [String] { Set(transactions.map(\.originalTransactionId)).sorted() }
}

/// Issues receipts to the customers of a world, as their devices would have received them.
package struct ReceiptIssuer: Sendable {
    package let pki: TestPKI

    package func issue(_ plan: ReceiptPlan, for customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt
    {
        try issue(plan, for: customer, bytes: sign(plan, for: customer))
    }

    package func issue(_ plan: ReceiptPlan, for customer: SimulatedCustomer, bytes: [UInt8]) -> IssuedReceipt {
        let ids =
            plan.version == nil
            ? AppReceiptContent(plan, of: customer).purchasesInBlobOrder.map(\.transactionId) : plan.transactionIds
        return IssuedReceipt(
            plan: plan, customer: customer, transactions: ids.compactMap(customer.transaction), bytes: bytes)
    }

    private func sign(_ plan: ReceiptPlan, for customer: SimulatedCustomer) throws(CryptographyError) -> [UInt8] {
        guard let version = plan.version else {
            var encoder = AppReceiptEncoder(signer: pki.receiptSigner)
            encoder.options.digest = plan.creationDate < ReceiptPlan.firstSHA256 ? .sha1 : .sha256
            return try encoder.encode(AppReceiptContent(plan, of: customer))
        }
        return try pki.transactionEncoder(version, customer.environment).encode(
            purchaseInfo: PurchaseInfo.entries(plan, of: customer))
    }
}

extension AppReceiptContent {
    package init(_ plan: ReceiptPlan, of customer: SimulatedCustomer) {
        self.init(
            environment: customer.environment, bundleId: SimulatedApp.first.bundleId, creationDate: plan.creationDate,
            purchases: plan.transactionIds.compactMap(customer.transaction).map {
                AppReceiptPurchase($0, in: plan, environment: customer.environment)
            }, opaqueSeed: plan.seed)
        originalPurchaseDate = customer.originalPurchaseDate
        if plan.isVolumePurchase {
            receiptType = customer.environment == .production ? "ProductionVPP" : "ProductionVPPSandbox"
            expirationDate = Timestamp(seconds: plan.creationDate.seconds + 365 * Seconds.day)
        }
    }
}

extension AppReceiptPurchase {
    init(_ transaction: SimulatedTransaction, in plan: ReceiptPlan, environment: AppStoreEnvironment) {
        self.init(
            productId: transaction.product.productId, transactionId: transaction.receiptId,
            originalTransactionId: transaction.originalTransactionId, purchaseDate: transaction.purchaseDate,
            originalPurchaseDate: transaction.originalPurchaseDate,
            productType: transaction.product.kind.attributeValue,
            expiresDate: transaction.expiresDate)
        quantity = transaction.quantity
        productAppleId = environment == .production ? transaction.product.itemId : 0
        webOrderLineItemId = transaction.webOrderLineItemId.flatMap { Int64($0) } ?? 0
        isTrialPeriod = transaction.isTrialPeriod
        isInIntroOfferPeriod = transaction.isInIntroOfferPeriod
        extraAttributes = transaction.offerAttribute.map { [.text(1721, $0)] } ?? []
        isFamilyShared = transaction.isFamilyShared
        let revocation = transaction.revocation(at: plan.creationDate)
        cancellationDate = revocation?.date
        cancellationReason = revocation?.reason
        includesOwnership = plan.includesOwnership
    }
}

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
