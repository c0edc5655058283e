/// A message digest used by App Store signatures.
package enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    /// App Receipts until 2023, and all transactionReceipts.
    case sha1
    case sha256
    /// Only inside certificates of the P-384 authorities.
    case sha384
}
