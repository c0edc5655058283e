/// The repairs that are applied to a text before it is decoded.
package enum ReceiptProfile: String, Sendable, Hashable, CaseIterable {
    /// Only what Apple's endpoint accepts. This is the default for requests over HTTP.
    case apple
    /// Every repair of ``ReceiptRepair``: for stored receipts, for inspection, and for requests if the configuration
    /// has `profile: tolerant`. This is safe because the signature is still verified after the repairs.
    case tolerant
}
