package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

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

    package init(pki: TestPKI) { self.pki = pki }

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
