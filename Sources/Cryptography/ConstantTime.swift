import COpenSSL

/// Comparisons whose duration does not reveal where two secrets differ.
package enum ConstantTime {
    /// Returns whether the texts are equal. The duration reveals only whether their lengths differ.
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
