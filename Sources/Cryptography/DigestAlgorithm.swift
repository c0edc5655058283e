/// A message digest that App Store signatures use.
package enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    /// App Receipts until 2023, transactionReceipts always.
    case sha1
    case sha256
    /// Only inside certificates of the P-384 authorities.
    case sha384
}
