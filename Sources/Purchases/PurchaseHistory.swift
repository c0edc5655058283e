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
    ///
    /// - Parameter revocations: what is known from earlier, where there are no records.
    package init(
        receipt: Receipt, records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        configuredAppAppleId: Int64? = nil
    ) {
        self.init(
            receipt: receipt.contents, environment: receipt.environment, submittedText: receipt.canonicalText,
            records: records, revocations: revocations, configuredAppAppleId: configuredAppAppleId)
    }

    /// The history that the contents of a receipt tell; who calls this vouches that they are authentic.
    package init(
        receipt: ReceiptContents, environment: AppStoreEnvironment, submittedText: Redacted<[UInt8]>,
        records: CustomerRecords? = nil, revocations: RevocationIndex = RevocationIndex(),
        configuredAppAppleId: Int64? = nil
    ) {
        self.receipt = receipt.overlaid(
            with: records.map { RevocationIndex($0.transactions.map(\.payload)) } ?? revocations)
        self.environment = environment
        self.submittedText = submittedText
        self.records = records
        appAppleId = records?.appAppleId ?? configuredAppAppleId
    }
}

extension ReceiptContents {
    /// The same purchases, with the revocations that became known since.
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
                receipt.purchases[index].cancellationReason = revocation.reason
            }
            return .app(receipt)
        case .transaction(var receipt):
            receipt.revocationDate =
                revocations.revocation(
                    transactionId: receipt.transactionId, webOrderLineItemId: receipt["web-order-line-item-id"])?.date
            return .transaction(receipt)
        }
    }
}
