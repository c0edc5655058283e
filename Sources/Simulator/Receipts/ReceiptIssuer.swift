package import Cryptography
package import StoreTypes

/// A receipt that the simulated App Store has signed.
package struct IssuedReceipt: Sendable {
    package let plan: ReceiptPlan
    package let customer: SimulatedCustomer
    /// What it lists, in the order of the blob.
    package let transactions: [SimulatedTransaction]
    package let bytes: [UInt8]

    package var id: String { plan.id }
    package var base64: String { Base64.encode(bytes) }
    package var environment: AppStoreEnvironment { customer.environment }
    package var hasAutoRenewable: Bool { transactions.contains(where: \.isAutoRenewable) }

    /// Distinct, sorted as text.
    package var originalTransactionIds: [String] { Set(transactions.map(\.originalTransactionId)).sorted() }
}

/// Makes receipts for the customers of a world, as their devices would have got them.
package struct ReceiptIssuer: Sendable {
    package let pki: TestPKI

    package init(pki: TestPKI) {
        self.pki = pki
    }

    /// Signs what `plan` says; SHA-1 before 2023-06-20, when Apple changed to SHA-256.
    package func issue(_ plan: ReceiptPlan, for customer: SimulatedCustomer) throws(CryptographyError) -> IssuedReceipt
    {
        try issue(plan, for: customer, bytes: sign(plan, for: customer))
    }

    /// The same for a receipt that was signed before.
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
            encoder.options.digest = plan.creationDate < Timestamp(seconds: 1_687_219_200) ? .sha1 : .sha256
            return try encoder.encode(AppReceiptContent(plan, of: customer))
        }
        return try transactionEncoder(version, customer.environment).encode(
            purchaseInfo: PurchaseInfo.entries(plan, of: customer))
    }

    /// With the signer, pod and environment line that such a receipt has.
    package func transactionEncoder(
        _ version: UInt8, _ environment: AppStoreEnvironment
    ) -> TransactionReceiptEncoder {
        let isSandbox = environment == .sandbox
        return TransactionReceiptEncoder(
            signer: version == 2 ? pki.purchaseSigner : pki.receiptSigner,
            options: .init(
                version: version, environmentLine: isSandbox ? "Sandbox" : nil, pod: isSandbox ? "100" : "43"))
    }
}

extension AppReceiptContent {
    /// What a planned App Receipt of `customer` says.
    package init(_ plan: ReceiptPlan, of customer: SimulatedCustomer) {
        self.init(
            environment: customer.environment, bundleId: SimulatedApp.first.bundleId, creationDate: plan.creationDate,
            purchases: plan.transactionIds.compactMap(customer.transaction).map {
                AppReceiptPurchase($0, environment: customer.environment, tellsOwnership: plan.tellsOwnership)
            }, opaqueSeed: plan.seed)
        originalPurchaseDate = customer.originalPurchaseDate
        if plan.isVolumePurchase {
            receiptType = customer.environment == .production ? "ProductionVPP" : "ProductionVPPSandbox"
            expirationDate = Timestamp(seconds: plan.creationDate.seconds + 365 * 86_400)
        }
    }
}

extension AppReceiptPurchase {
    init(_ transaction: SimulatedTransaction, environment: AppStoreEnvironment, tellsOwnership: Bool) {
        self.init(
            productId: transaction.product.productId, transactionId: transaction.receiptId,
            originalTransactionId: transaction.originalTransactionId, purchaseDate: transaction.purchaseDate,
            originalPurchaseDate: transaction.originalPurchaseDate, productType: transaction.product.kind.number,
            expiresDate: transaction.expiresDate)
        quantity = transaction.quantity
        productAppleId = environment == .production ? transaction.product.itemId : 0
        webOrderLineItemId = transaction.webOrderLineItemId.flatMap { Int64($0) } ?? 0
        isTrialPeriod = transaction.isTrialPeriod
        isInIntroOfferPeriod = transaction.isInIntroOfferPeriod
        promotionalOfferId = transaction.promotionalOfferId
        isFamilyShared = transaction.isFamilyShared
        if !tellsOwnership { omittedTypes = [1722] }
    }
}
