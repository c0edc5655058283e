import Cryptography
import Synchronization

/// A cache of verified signers, keyed by the bytes of the header segment. A cached header is not decoded again.
///
/// The cache is bounded and evicts the oldest entry. A header is inserted only after its signature was verified, so
/// clients cannot fill the cache with headers of their own.
final class HeaderCache: Sendable {
    private struct Entry {
        let segment: [UInt8]
        let signer: VerifiedSigner
    }

    private let capacity: Int
    private let entries = Mutex<[Entry]>([])

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Returns the signer of exactly this header, or `nil` if it is not cached.
    func signer(of header: Range<Int>, in text: borrowing Span<UInt8>) -> VerifiedSigner? {
        let cached = entries.withLock { $0 }
        for entry in cached where text.holds(entry.segment, at: header) { return entry.signer }
        return nil
    }

    func insert(_ signer: VerifiedSigner, for header: Range<Int>, in text: borrowing Span<UInt8>) {
        let segment = text.extracting(header).withUnsafeBufferPointer { [UInt8]($0) }
        entries.withLock { entries in
            guard !entries.contains(where: { $0.segment == segment }) else { return }
            entries.append(Entry(segment: segment, signer: signer))
            if entries.count > capacity { entries.removeFirst() }
        }
    }
}
