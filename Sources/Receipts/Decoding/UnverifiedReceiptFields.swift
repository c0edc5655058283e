package import ReceiptBridgeBase

/// The app and environment that a receipt claims, read without verification. They may only be used to route the
/// request.
package struct UnverifiedReceiptFields: Sendable, Hashable {
    package var bundleId: BundleIdentifier?
    package var environment: AppStoreEnvironment?

    init(_ bundleId: String? = nil, _ environment: AppStoreEnvironment? = nil) {
        self.bundleId = bundleId.flatMap(BundleIdentifier.init(rawValue:))
        self.environment = environment
    }
}

extension ReceiptDecoder {
    /// Reads the claimed app and environment without verifying the signature; both are `nil` if the text cannot be
    /// decoded.
    package func claims(of text: borrowing Span<UInt8>) -> UnverifiedReceiptFields {
        guard let input = try? ReceiptInput(text, profile: profile) else { return UnverifiedReceiptFields() }
        switch input.kind {
        case .appReceipt:
            guard let container = try? SignedData(ber: input.bytes.span) else { return UnverifiedReceiptFields() }
            let (bytes, range) = container.content.location(in: input.bytes)
            let content = bytes.span.extracting(range)
            guard let outline = try? AppReceiptAttributes.outline(of: content) else { return UnverifiedReceiptFields() }
            var receipt = AppReceipt()
            receipt.receiptType = content.text(outline.receiptType)
            return UnverifiedReceiptFields(content.text(outline.bundleId), receipt.environment)
        case .transactionReceipt:
            let receipt = try? TransactionReceiptBlob(input.bytes.span).receipt
            return UnverifiedReceiptFields(receipt?.bundleId, receipt?.environment)
        case .jws, .unknown:
            return UnverifiedReceiptFields()
        }
    }
}
