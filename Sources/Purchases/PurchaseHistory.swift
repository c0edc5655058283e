package import AppStore
package import ReceiptDecoding
package import StoreTypes

/// What is known of one customer's purchases, whatever told it: the neutral form between the stages and the answers.
package struct PurchaseHistory: Sendable {
    /// What the submitted receipt says, with the revocations that became known since.
    package let receipt: ReceiptContents
    /// The part of the App Store that the receipt belongs to.
    package let environment: AppStoreEnvironment
    /// The submitted receipt in canonical base64: standard alphabet, padded, no line breaks. It goes back as
    /// `latest_receipt`, because only Apple can sign a newer one.
    package let submittedText: Redacted<[UInt8]>
    /// What the App Store Server API says; nil where nobody was asked.
    package let records: CustomerRecords?
    /// The app's Apple ID: what the Server API says, and in the sandbox, where it says nothing, what is configured.
    package let appAppleId: Int64?

    /// The history that an authentic receipt tells, and the Server API where it was asked.
    package init(receipt: Receipt, records: CustomerRecords? = nil, configuredAppAppleId: Int64? = nil) {
        self.init(
            receipt: receipt.contents, environment: receipt.environment, submittedText: receipt.canonicalText,
            records: records, configuredAppAppleId: configuredAppAppleId)
    }

    /// The history that the contents of a receipt tell; who calls this vouches that they are authentic.
    package init(
        receipt: ReceiptContents, environment: AppStoreEnvironment, submittedText: Redacted<[UInt8]>,
        records: CustomerRecords? = nil, configuredAppAppleId: Int64? = nil
    ) {
        self.receipt = records.map { receipt.overlaid(with: $0.transactions.map(\.payload)) } ?? receipt
        self.environment = environment
        self.submittedText = submittedText
        self.records = records
        appAppleId = records?.appAppleId ?? configuredAppAppleId
    }
}

extension ReceiptContents {
    /// The same purchases, with the revocations of a history: by transaction id, else by web order line item id. Apple's
    /// answers never show those of consumables.
    fileprivate func overlaid(with transactions: [TransactionPayload]) -> ReceiptContents {
        guard case .app(var receipt) = self else { return self }
        var byTransaction: [String: TransactionPayload] = [:]
        var byLineItem: [String: TransactionPayload] = [:]
        for transaction in transactions where transaction.revocationDate != nil {
            if let id = transaction.transactionId { byTransaction[id] = transaction }
            if let id = transaction.webOrderLineItemId { byLineItem[id] = transaction }
        }
        guard !byTransaction.isEmpty else { return self }
        for index in receipt.purchases.indices where receipt.purchases[index].productType != .consumable {
            let purchase = receipt.purchases[index]
            let lineItem = purchase.webOrderLineItemId.flatMap { $0 == 0 ? nil : byLineItem["\($0)"] }
            guard let revoked = purchase.transactionId.flatMap({ byTransaction[$0] }) ?? lineItem else { continue }
            receipt.purchases[index].cancellationDate = revoked.revocationDate
            receipt.purchases[index].cancellationReason = revoked.revocationReason
        }
        return .app(receipt)
    }
}
