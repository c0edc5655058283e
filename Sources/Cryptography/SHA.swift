import COpenSSL

/// Message digests (SHA-1, SHA-256, SHA-384) of byte arrays and texts.
///
/// Signature verification does not use these functions: ``VerificationContext`` computes its digest itself.
package enum SHA {
    /// Returns the digest of 20, 32 or 48 bytes; empty only if OpenSSL on this system refuses the algorithm.
    package static func digest(_ bytes: [UInt8], with algorithm: DigestAlgorithm) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &result, &length, algorithm.signingMethod, nil) == 1 else { return [] }
        return Array(result.prefix(Int(length)))
    }

    /// Returns the first eight bytes of a text's SHA-256. Short enough for a key in a large table.
    package static func short(_ text: String) -> Int64 {
        Int64(bitPattern: digest(Array(text.utf8), with: .sha256).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Returns the digest as lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8], with algorithm: DigestAlgorithm) -> String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
        let bytes = digest(bytes, with: algorithm)
        return String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            for (place, byte) in bytes.enumerated() {
                text[2 * place] = digit(byte >> 4)
                text[2 * place + 1] = digit(byte & 15)
            }
            return 2 * bytes.count
        }
    }
}

extension DigestAlgorithm {
    /// OpenSSL's description of the algorithm; static, never freed.
    var signingMethod: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        }
    }
}
