package import ReceiptDecoding
package import StoreTypes

/// What is known of one customer's purchases, whatever told it: the neutral form between the stages and the answers.
///
/// For now that is the submitted receipt alone.
package struct PurchaseHistory: Sendable {
    /// What the submitted receipt says.
    package let receipt: ReceiptContents
    /// The part of the App Store that the receipt belongs to.
    package let environment: AppStoreEnvironment
    /// The submitted receipt in canonical base64: standard alphabet, padded, no line breaks. It goes back as
    /// `latest_receipt`, because only Apple can sign a newer one.
    package let submittedText: Redacted<[UInt8]>

    /// The history that an authentic receipt tells.
    package init(receipt: Receipt) {
        self.init(
            receipt: receipt.contents, environment: receipt.environment, submittedText: receipt.canonicalText)
    }

    /// The history that the contents of a receipt tell; who calls this vouches that they are authentic.
    package init(receipt: ReceiptContents, environment: AppStoreEnvironment, submittedText: Redacted<[UInt8]>) {
        self.receipt = receipt
        self.environment = environment
        self.submittedText = submittedText
    }
}
