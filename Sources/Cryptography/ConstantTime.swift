import COpenSSL

/// Comparisons whose duration does not tell where two secrets differ.
package enum ConstantTime {
    /// Whether the texts are the same; only a difference in length shows in the time it takes.
    package static func equal(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}
