/// The repairs that are applied to a text before it is decoded.
package enum ReceiptProfile: String, Sendable, Hashable, CaseIterable {
    /// Only what Apple's endpoint accepts. For everything that is answered over HTTP.
    case apple
    /// Every repair of ``ReceiptRepair``, for stored receipts and for inspection. This is safe because the signature
    /// is still verified after the repairs.
    case tolerant
}
