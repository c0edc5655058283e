import ReceiptBridgeBase
import ReceiptBridgeCOpenSSL

/// A message digest used by App Store signatures.
package enum DigestAlgorithm: Sendable, Hashable {
    /// App Receipts until January 2024, and transactionReceipts of versions 2 and 3.
    case sha1
    case sha256
    /// Only inside certificates issued by the P-384 intermediates and roots.
    case sha384
}

extension DigestAlgorithm {
    /// OpenSSL's implementation, fetched once. `EVP_sha256()` and its siblings would be looked up again in every
    /// operation.
    var implementation: OpaquePointer? { FetchedDigests.shared[self] }

    /// Returns the digest of the bytes; `nil` if OpenSSL on this system refuses the algorithm.
    package func digest(of bytes: borrowing Span<UInt8>) -> [UInt8]? {
        guard let implementation else { return nil }
        return bytes.withUnsafeBufferPointer { input in
            var written: UInt32 = 0
            let output = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
                let done = EVP_Digest(input.baseAddress, input.count, buffer.baseAddress, &written, implementation, nil)
                count = done == 1 ? Int(written) : 0
            }
            return output.isEmpty ? nil : output
        }
    }
}

/// A cache of the fetched implementations.
///
/// `@unchecked Sendable`: EVP_MD objects are immutable and reference-counted, and these live as long as the process.
private struct FetchedDigests: @unchecked Sendable {
    static let shared = FetchedDigests()

    private let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
    private let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    private let sha384 = EVP_MD_fetch(nil, "SHA384", nil)

    subscript(algorithm: DigestAlgorithm) -> OpaquePointer? {
        switch algorithm {
        case .sha1: sha1
        case .sha256: sha256
        case .sha384: sha384
        }
    }
}

/// Message digests (SHA-1, SHA-256, SHA-384) of byte arrays and texts.
///
/// Signature verification does not use these functions: ``VerificationContext`` computes its digest itself.
package enum SHA {
    /// Returns the digest of 20, 32 or 48 bytes; empty only if OpenSSL on this system refuses the algorithm.
    package static func digest(_ bytes: [UInt8], with algorithm: DigestAlgorithm) -> [UInt8] {
        algorithm.digest(of: bytes.span) ?? []
    }

    /// Returns the first eight bytes of a text's SHA-256. Short enough for a key in a large table.
    package static func short(_ text: String) -> Int64 {
        Int64(bitPattern: digest(Array(text.utf8), with: .sha256).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Returns the digest as lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8], with algorithm: DigestAlgorithm) -> String {
        Hexadecimal.text(of: digest(bytes, with: algorithm))
    }
}

/// A SHA-256 digest of bytes that arrive in parts.
package final class RunningDigest {
    private let context = EVP_MD_CTX_new()

    /// Starts with no bytes.
    package init() { EVP_DigestInit_ex(context, DigestAlgorithm.sha256.implementation, nil) }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: Span<UInt8>) {
        _ = bytes.withUnsafeBufferPointer { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    /// Returns the digest of all bytes, in 32 bytes. Nothing can be added afterwards.
    package func finish() -> [UInt8] {
        var length: UInt32 = 0
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            count = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1 ? Int(length) : 0
        }
    }
}

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
