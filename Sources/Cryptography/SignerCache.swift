import COpenSSL
import Synchronization

/// Remembers verified chains by the bytes of their certificates, so that a receipt costs one signature verification
/// and no certificate work. Bounded; the oldest goes first. Only what a pinned root vouches for gets in, so nobody
/// from outside can crowd it.
final class SignerCache: Sendable {
    /// One chain: equal in every byte, or another one.
    private struct Entry {
        let role: SignerRole
        let certificates: [[UInt8]]
        let signers: [VerifiedSigner]

        func isFor(_ presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>) -> Bool {
            guard role == self.role, presented.authorities.count == certificates.count - 1,
                bytes.holds(certificates[0], at: presented.leaf)
            else { return false }
            for (index, authority) in presented.authorities.enumerated()
            where !bytes.holds(certificates[index + 1], at: authority) { return false }
            return true
        }
    }

    private let capacity: Int
    private let entries = Mutex<[Entry]>([])

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// What was verified for exactly these certificates and this role.
    func signers(
        for presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) -> [VerifiedSigner]? {
        // A dozen entries at most in practice, told apart by their first bytes: comparing is quicker than hashing.
        let known = entries.withLock { $0 }
        for entry in known where entry.isFor(presented, role: role, in: bytes) { return entry.signers }
        return nil
    }

    func insert(
        _ signers: [VerifiedSigner], for presented: PresentedSigner, role: SignerRole, in bytes: borrowing Span<UInt8>
    ) {
        var certificates = [bytes.copy(presented.leaf)]
        for authority in presented.authorities { certificates.append(bytes.copy(authority)) }
        let entry = Entry(role: role, certificates: certificates, signers: signers)
        entries.withLock { entries in
            guard !entries.contains(where: { $0.role == entry.role && $0.certificates == entry.certificates }) else {
                return
            }
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
    /// The signer's certificate, DER.
    package let leaf: Range<Int>
    /// Certificates whose subject is the leaf's issuer, DER; the first four count.
    package let authorities: [Range<Int>]

    package init(leaf: Range<Int>, authorities: [Range<Int>]) {
        self.leaf = leaf
        self.authorities = authorities.count > 4 ? Array(authorities.prefix(4)) : authorities
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

    func copy(_ range: Range<Int>) -> [UInt8] {
        withUnsafeBufferPointer { [UInt8]($0[range]) }
    }
}
