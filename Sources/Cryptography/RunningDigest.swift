import ReceiptBridgeCOpenSSL

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
