package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// All information about one customer's purchases, from every source: the neutral form between decoding or lookup and
/// rendering.
package struct PurchaseHistory: Sendable {
    /// The contents of the submitted receipt, with the revocations reported since.
    package let receipt: ReceiptContents
    /// Whether the receipt lists any purchase as it was signed, including those that ``receipt`` no longer has.
    let listsPurchases: Bool
    package let environment: AppStoreEnvironment
    /// The submitted receipt in canonical base64: standard alphabet, padded, no line breaks. It is returned as
    /// `latest_receipt`, because only Apple can sign a newer one. For a signed transaction it is base64
    /// of the newest one at hand, `nil` without one. A receipt is encoded at each access.
    package var submittedText: Redacted<[UInt8]>? { authenticReceipt?.canonicalText ?? givenText }
    private var authenticReceipt: Receipt?
    private let givenText: Redacted<[UInt8]>?
    /// The records of the App Store Server API; `nil` if it was not called.
    package let records: CustomerRecords?
    /// The app's Apple ID from the Server API. In the sandbox the API returns none, so the configured one is used.
    package let appAppleId: Int64?

    /// - Parameters:
    ///   - revocations: Used only if there are no records.
    ///   - dropsRefundedConsumables: whether an App Receipt loses the consumables that were refunded according to the
    ///     records. A receipt or a response does not show the refund of a consumable in any other way.
    package init(
        receipt: Receipt, records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        configuredAppAppleId: Int64? = nil, dropsRefundedConsumables: Bool = false
    ) {
        self.init(
            receipt: receipt.contents, environment: receipt.environment, submittedText: nil, records: records,
            revocations: revocations, configuredAppAppleId: configuredAppAppleId,
            dropsRefundedConsumables: dropsRefundedConsumables)
        authenticReceipt = receipt
    }

    /// Creates the history of a receipt's contents. The caller must have checked that they are authentic.
    package init(
        receipt: ReceiptContents, environment: AppStoreEnvironment, submittedText: Redacted<[UInt8]>?,
        records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        configuredAppAppleId: Int64? = nil, dropsRefundedConsumables: Bool = false
    ) {
        let contents = receipt.overlaid(with: records.map { RevocationIndex($0) } ?? revocations)
        if case .app(let receipt) = contents {
            listsPurchases = !receipt.purchases.isEmpty
        } else {
            listsPurchases = true
        }
        let dropped = dropsRefundedConsumables ? records?.consumables.refunded ?? [] : []
        self.receipt = contents.dropping(dropped)
        (self.environment, self.records, givenText) = (environment, records, submittedText)
        appAppleId = records?.appAppleId ?? configuredAppAppleId
    }
}

extension ReceiptContents {
    /// An iOS 6 receipt has one purchase, which is never dropped.
    fileprivate func dropping(_ transactionIds: Set<String>) -> ReceiptContents {
        guard !transactionIds.isEmpty, case .app(var receipt) = self else { return self }
        receipt.purchases.removeAll { $0.transactionId.map(transactionIds.contains) ?? false }
        return .app(receipt)
    }

    fileprivate func overlaid(with revocations: RevocationIndex) -> ReceiptContents {
        guard !revocations.isEmpty else { return self }
        switch self {
        case .app(var receipt):
            for index in receipt.purchases.indices where receipt.purchases[index].productType != .consumable {
                let purchase = receipt.purchases[index]
                let lineItem = purchase.webOrderLineItemId.flatMap { $0 == 0 ? nil : "\($0)" }
                guard
                    let revocation = revocations.revocation(
                        transactionId: purchase.transactionId, webOrderLineItemId: lineItem)
                else { continue }
                receipt.purchases[index].cancellationDate = revocation.date
                receipt.purchases[index].cancellationReason = revocation.reason ?? purchase.cancellationReason
            }
            return .app(receipt)
        case .transaction(var receipt):
            let revocation = revocations.revocation(
                transactionId: receipt.transactionId, webOrderLineItemId: receipt["web-order-line-item-id"])
            receipt.revocationDate = revocation?.date
            receipt.revocationReason = revocation?.reason
            return .transaction(receipt)
        }
    }
}

/// Signed payloads in the form of a receipt, for responses to clients that present no receipt.
extension AppReceipt {
    /// Adds purchases in ascending order of purchase date and transaction id.
    package mutating func add(_ transactions: [TransactionPayload]) {
        let rows = transactions.indices.map { LatestRow(transactions[$0], at: $0) }
        purchases += rows.sorted(by: <).map { InAppPurchase(transactions[$0.index]) }
    }

    package mutating func add(_ download: AppTransactionPayload) {
        appAppleId = download.appAppleId ?? appAppleId
        applicationVersion = download.applicationVersion ?? applicationVersion
        versionExternalIdentifier = download.versionExternalIdentifier ?? versionExternalIdentifier
        receiptCreationDate = download.receiptCreationDate ?? receiptCreationDate
        originalPurchaseDate = download.originalPurchaseDate ?? originalPurchaseDate
        originalApplicationVersion = download.originalApplicationVersion ?? originalApplicationVersion
    }
}
