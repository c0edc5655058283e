import COpenSSL

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
                let done = EVP_Digest(
                    input.baseAddress, input.count, buffer.baseAddress, &written, implementation, nil)
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
