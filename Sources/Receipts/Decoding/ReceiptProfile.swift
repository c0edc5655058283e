/// The repairs that are applied to a text before it is decoded.
package enum ReceiptProfile: String, Sendable, Hashable, CaseIterable {
    /// Only what Apple's endpoint accepts. This is the default for requests to verifyReceipt.
    case apple
    /// The repairs of ``ReceiptRepairer``: for requests to verifyReceipt if the configuration has `profile: tolerant`.
    /// This is safe because the signature is still verified after the repairs.
    case tolerant
    /// The same repairs, and ``ReceiptFinder`` finds the receipt in what is around it: for stored receipts, for
    /// inspection, and for the customer view.
    case stored
}
