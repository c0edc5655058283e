import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// Message authentication codes (HMAC, RFC 2104): only holders of the key can compute or check one.
///
/// https://www.rfc-editor.org/rfc/rfc2104
package enum HMAC {
    /// Returns the 32 bytes of the HMAC-SHA256; empty only if OpenSSL on this system refuses the algorithm.
    package static func sha256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        // An empty key is valid, but OpenSSL reads a null pointer as "keep the previous key".
        let padded = key.isEmpty ? [0] : key
        guard
            ReceiptBridgeCOpenSSL.HMAC(
                EVP_sha256(), padded, Int32(key.count), bytes, bytes.count, &result, &length) != nil
        else { return [] }
        return Array(result.prefix(Int(length)))
    }

    /// Returns the HMAC-SHA256 as 64 lower-case hexadecimal digits; empty only if OpenSSL on this system refuses the
    /// algorithm.
    package static func hex(_ bytes: [UInt8], key: [UInt8]) -> String {
        Hexadecimal.text(of: sha256(bytes, key: key))
    }
}

/// Comparisons whose duration does not reveal where two secrets differ.
package enum ConstantTime {
    /// Returns whether the texts are equal. The duration reveals only whether their lengths differ.
    package static func equal(_ left: String, _ right: String) -> Bool {
        equal(Array(left.utf8), Array(right.utf8))
    }

    /// Returns whether the bytes are equal. The duration reveals only whether their numbers differ.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}
