import COpenSSL
import Synchronization

/// Remembers verified chains by the bytes of their certificates, so that a receipt costs one signature verification
/// and no certificate work. Bounded; the oldest goes first. Only what a pinned root vouches for gets in, each pair of
/// leaf and authority apart, so nobody from outside can crowd it.
final class SignerCache: Sendable {
    /// One chain: equal in every byte, or another one.
    private struct Entry {
        let role: SignerRole
        let leaf: [UInt8]
        /// Nil where the authority was known here and did not travel along.
        let authority: [UInt8]?
        let signer: VerifiedSigner

        func isFor(_ presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>) -> Bool {
            guard role == self.role, bytes.holds(leaf, at: presented.leaf) else { return false }
            guard let authority else { return true }
            for range in presented.authorities where bytes.holds(authority, at: range) { return true }
            return false
        }
    }

    private let capacity: Int
    private let entries = Mutex<[Entry]>([])

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.withLock { $0.count } }

    /// What was verified for these certificates and this role, and was valid at that time.
    ///
    /// A dozen entries in practice, told apart by their first bytes: comparing is quicker than hashing.
    func signer(
        for presented: PresentedSigner, role: SignerRole, time: TrustStore.SigningTime, in bytes: borrowing Span<UInt8>
    ) -> VerifiedSigner? {
        let known = entries.withLock { $0 }
        for entry in known where time.falls(in: entry.signer.window) && entry.isFor(presented, role: role, in: bytes) {
            return entry.signer
        }
        return nil
    }

    /// - Parameter authority: nil for one that is known here.
    func insert(_ signer: VerifiedSigner, leaf: Certificate, authority: Certificate?, role: SignerRole) {
        let entry = Entry(role: role, leaf: leaf.der, authority: authority?.der, signer: signer)
        entries.withLock { entries in
            guard
                !entries.contains(where: {
                    $0.role == entry.role && $0.leaf == entry.leaf && $0.authority == entry.authority
                        && $0.signer.window == signer.window
                })
            else { return }
            entries.append(entry)
            if entries.count > capacity { entries.removeFirst() }
        }
    }

    func removeAll() {
        entries.withLock { $0 = [] }
    }
}

/// The certificates that came with a signature, where they stand.
package struct PresentedSigner: Sendable {
    /// Genuine receipts bring one.
    private static let maximumAuthorities = 4

    /// The signer's certificate, DER.
    package let leaf: Range<Int>
    /// Certificates whose subject is the leaf's issuer, DER; the first four count.
    package let authorities: [Range<Int>]

    package init(leaf: Range<Int>, authorities: [Range<Int>]) {
        self.leaf = leaf
        let maximum = Self.maximumAuthorities
        self.authorities = authorities.count > maximum ? Array(authorities.prefix(maximum)) : authorities
    }
}

extension Span<UInt8> {
    /// Whether these bytes stand there.
    package func holds(_ expected: [UInt8], at range: Range<Int>) -> Bool {
        guard range.count == expected.count, range.upperBound <= count else { return false }
        return withUnsafeBufferPointer { buffer in
            expected.withUnsafeBufferPointer { expected in
                guard let left = buffer.baseAddress, let right = expected.baseAddress else { return true }
                return memcmp(left + range.lowerBound, right, expected.count) == 0
            }
        }
    }
}
