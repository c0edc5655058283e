import Cryptography
import Synchronization

/// Remembers the signer behind a header by the bytes of the header segment: nothing of a known header is decoded again.
///
/// Bounded; the oldest goes first. Only headers under a signature that held get in, so nobody but Apple can crowd it.
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

    /// The signer of exactly this header.
    func signer(of header: Range<Int>, in text: borrowing Span<UInt8>) -> VerifiedSigner? {
        let known = entries.withLock { $0 }
        for entry in known where text.holds(entry.segment, at: header) { return entry.signer }
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
