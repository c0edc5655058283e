import ReceiptBridgeCOpenSSL
import Synchronization
import ReceiptBridgeBase

/// An EVP_PKEY_CTX initialized for verification with one key and one digest. Initializing one costs a fifth of a
/// verification, so ``VerificationContextPool`` reuses them.
///
/// `@unchecked Sendable`: an EVP_PKEY_CTX may be used by one thread at a time, and the pool hands each out to one
/// thread only.
final class VerificationContext: @unchecked Sendable {
    private let context: OpaquePointer
    let digest: DigestAlgorithm

    /// - Throws: `unavailable` if OpenSSL on this system refuses the key or the digest.
    init(key: OpaquePointer, digest: DigestAlgorithm) throws(CryptographyError) {
        guard let implementation = digest.implementation, let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
            throw .openSSL(.unavailable, "\(digest)")
        }
        let isRSA = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA
        guard EVP_PKEY_verify_init(context) == 1,
            !isRSA || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            EVP_PKEY_CTX_set_signature_md(context, implementation) == 1
        else {
            EVP_PKEY_CTX_free(context)
            throw .openSSL(.unavailable, "this system's OpenSSL does not verify \(digest) signatures")
        }
        self.context = context
        self.digest = digest
    }

    deinit {
        EVP_PKEY_CTX_free(context)
    }

    func isValid(
        _ signature: borrowing Span<UInt8>, over message: borrowing Span<UInt8>
    ) throws(CryptographyError) -> Bool {
        guard let implementation = digest.implementation else { throw .openSSL(.unavailable, "\(digest)") }
        let result = message.withUnsafeBufferPointer { message in
            signature.withUnsafeBufferPointer { signature in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(EVP_MAX_MD_SIZE)) { hash -> CInt? in
                    var size: UInt32 = 0
                    guard
                        EVP_Digest(message.baseAddress, message.count, hash.baseAddress, &size, implementation, nil)
                            == 1
                    else { return nil }
                    return EVP_PKEY_verify(context, signature.baseAddress, signature.count, hash.baseAddress, Int(size))
                }
            }
        }
        guard let result else { throw .openSSL(.unavailable, "\(digest)") }
        if result != 1 { ERR_clear_error() }
        return result == 1
    }
}

/// A pool of the idle contexts of one key.
final class VerificationContextPool: Sendable {
    /// Maximum number of idle contexts. More threads than this rarely verify with the same key at the same time.
    private static let capacity = 8

    private let idle = Mutex<[VerificationContext]>([])

    func checkOut(_ digest: DigestAlgorithm) -> VerificationContext? {
        idle.withLock { idle in
            idle.lastIndex { $0.digest == digest }.map { idle.remove(at: $0) }
        }
    }

    func checkIn(_ context: VerificationContext) {
        idle.withLock { idle in
            if idle.count < Self.capacity { idle.append(context) }
        }
    }
}

/// One signature verification with key, context and input prepared in advance, for benchmarks.
///
/// ``run()`` does only the digest and the signature check, which is the least that OpenSSL can do for an item.
/// Benchmarks report other times relative to it.
package struct BenchmarkVerification: Sendable {
    private let context: VerificationContext
    private let signature: [UInt8]
    private let message: [UInt8]

    package init(
        key: VerifyingKey, signature: [UInt8], message: [UInt8], digest: DigestAlgorithm
    ) throws(CryptographyError) {
        context = try key.makeContext(digest)
        self.signature = signature
        self.message = message
    }

    /// Returns `false` if the signature is invalid. Use an instance from one thread at a time.
    package func run() -> Bool { (try? context.isValid(signature.span, over: message.span)) ?? false }
}

/// A cache of verified complete certificate chains, keyed by the bytes of the leaf, the intermediate and the pinned
/// root.
///
/// With a cached chain, a JWS with an invalid signature costs one verification of that signature and no certificate
/// work.
///
/// The cache is bounded and evicts the oldest entry first. Only chains that end in a pinned root are inserted, so
/// clients cannot fill it with chains of their own. Variants of a genuine chain are few: an ECDSA signature `(r, s)`
/// has one other valid encoding, `(r, n − s)`, so a leaf and its intermediate make at most four entries. The root in an
/// entry is the pinned one, also if another certificate of its key was presented.
struct ChainCache: Sendable {
    struct Entry: Sendable {
        fileprivate let role: SignerRole
        fileprivate let leaf: [UInt8]
        fileprivate let authority: [UInt8]
        fileprivate let root: Certificate
        fileprivate let signer: VerifiedSigner

        fileprivate func matches(
            _ chain: PresentedChain, below root: Certificate, role: SignerRole, in bytes: borrowing Span<UInt8>
        ) -> Bool {
            role == self.role && root === self.root && bytes.holds(leaf, at: chain.leaf)
                && bytes.holds(authority, at: chain.authority)
        }
    }

    let chains: FIFOCache<Entry>

    /// Returns the signer of exactly this leaf and intermediate below this pinned root.
    func signer(
        of chain: PresentedChain, below root: Certificate, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        for entry in chains.entries where entry.matches(chain, below: root, role: role, in: bytes) {
            return entry.signer
        }
        return nil
    }

    func insert(
        _ signer: VerifiedSigner, leaf: Certificate, authority: Certificate, root: Certificate, role: SignerRole
    ) {
        let entry = Entry(role: role, leaf: leaf.der, authority: authority.der, root: root, signer: signer)
        chains.insert(entry) {
            $0.role == role && $0.leaf == entry.leaf && $0.authority == entry.authority && $0.root === entry.root
        }
    }
}
